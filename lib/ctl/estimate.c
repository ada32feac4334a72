#include "ctl/estimate.h"

#include <string.h>

#include "base/stamp.h"
#include "base/units.h"
#include "plan/record.h"

#define PPM_MAX 1000000u

static bool rates_valid(const struct estimate *estimate)
{
    switch ((enum estimate_kind)estimate->kind) {
    case ESTIMATE_VALUE:
        return estimate->low_bps <= estimate->avail_bps && estimate->avail_bps <= estimate->high_bps;
    case ESTIMATE_AT_LEAST:
        return estimate->low_bps == estimate->avail_bps && estimate->high_bps == 0;
    case ESTIMATE_NONE:
    case ESTIMATE_REFUSED:
        return true; /* rates say what it would have been, if anything */
    }
    return false;
}

bool ctl_estimate_valid(const struct ctl_estimate *record, struct err *err)
{
    const struct estimate *estimate = &record->estimate;
    if (!name_valid(record->from) || !name_valid(record->to))
        return err_set(err, "not the name of a node");
    if (strcmp(record->from, record->to) == 0)
        return err_set(err, "an estimate of %s to itself", record->from);
    if (estimate_kind_word(estimate->kind) == NULL || estimate_reason_word(estimate->reason) == NULL)
        return err_set(err, "kind %u, reason %u: there are none such", estimate->kind, estimate->reason);
    if (estimate->stamp_kind > STAMP_VIRTUAL)
        return err_set(err, "stamps of kind %u", estimate->stamp_kind);
    if (!rates_valid(estimate))
        return err_set(err, "%s, and its interval is not of that kind", estimate_kind_word(estimate->kind));
    if (estimate->until_ns < estimate->from_ns)
        return err_set(err, "its window ends before it begins");
    return estimate->loss_ppm <= PPM_MAX || err_set(err, "a loss of more than all");
}

size_t ctl_estimate_encode(const struct ctl_estimate *estimate, uint8_t *out, size_t room)
{
    struct record_writer writer = {.out = out, .room = room};
    record_put_bytes(&writer, estimate->from, NAME_BYTES);
    record_put_bytes(&writer, estimate->to, NAME_BYTES);
#define PUT(type, name)    record_put_##type(&writer, estimate->name);
#define PUT_OF(type, name) PUT(type, estimate.name)
    CTL_ESTIMATE_FIELDS(PUT, PUT_OF)
#undef PUT_OF
#undef PUT
    return writer.failed ? 0 : writer.length;
}

/* Behind the terminating zero nothing may stand: a record has one form only. */
static bool get_name(struct record_reader *reader, char name[NAME_BYTES])
{
    record_get_bytes(reader, name, NAME_BYTES);
    for (size_t at = strnlen(name, NAME_BYTES); at < NAME_BYTES; at++)
        if (name[at] != '\0')
            return false;
    return name[NAME_BYTES - 1] == '\0';
}

bool ctl_estimate_decode(struct ctl_estimate *estimate, const uint8_t *in, size_t length, struct err *err)
{
    struct record_reader reader = {.in = in, .length = length};
    memset(estimate, 0, sizeof(*estimate));
    if (!get_name(&reader, estimate->from) || !get_name(&reader, estimate->to))
        return err_set(err, "not the name of a node");
#define GET(type, name)    estimate->name = record_get_##type(&reader);
#define GET_OF(type, name) GET(type, estimate.name)
    CTL_ESTIMATE_FIELDS(GET, GET_OF)
#undef GET_OF
#undef GET
    if (reader.failed || reader.offset != length)
        return err_set(err, "%zu bytes, which is not the length of an estimate", length);
    return ctl_estimate_valid(estimate, err);
}
