#include "conf/value.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "conf/conf.h"

#define DIGITS_MAX   19 /* so that the digits of a number fit 64 bits */
#define DECIMALS_MAX 18

struct unit {
    const char *suffix;
    uint64_t scale;
};

/* Largest first: the order in which value_format tries them. */
static const struct unit rate_units[] = {
    {"Tbps", 1000000000000}, {"Gbps", 1000000000}, {"Mbps", 1000000}, {"kbps", 1000},
    {"Kbps", 1000},          {"bps", 1},           {NULL, 0}};
static const struct unit time_units[] = {
    {"h", 3600000000000}, {"min", 60000000000}, {"s", 1000000000}, {"ms", 1000000},
    {"us", 1000},         {"\u00b5s", 1000},    {"ns", 1},         {NULL, 0}};
static const struct unit size_units[] = {{"TiB", 1ULL << 40},
                                         {"TB", 1000000000000},
                                         {"GiB", 1ULL << 30},
                                         {"GB", 1000000000},
                                         {"MiB", 1ULL << 20},
                                         {"MB", 1000000},
                                         {"KiB", 1ULL << 10},
                                         {"KB", 1000},
                                         {"kB", 1000},
                                         {"B", 1},
                                         {NULL, 0}};
static const struct unit share_units[] = {{"%", 10000000}, {"ppm", 1000}, {"ppb", 1}, {NULL, 0}};
static const struct unit skew_units[] = {{"ppm", 1000}, {"ppb", 1}, {NULL, 0}};

static const struct unit *units_of(enum value_kind kind)
{
    switch (kind) {
    case VALUE_RATE:
        return rate_units;
    case VALUE_TIME:
        return time_units;
    case VALUE_SIZE:
        return size_units;
    case VALUE_SHARE:
        return share_units;
    case VALUE_SKEW:
        return skew_units;
    }
    CHECK(!"a kind of value");
    return NULL;
}

const char *value_form(enum value_kind kind)
{
    switch (kind) {
    case VALUE_RATE:
        return "a rate like 100Mbps or 1Gbps";
    case VALUE_TIME:
        return "a time like 40ms or 2s";
    case VALUE_SIZE:
        return "a size like 64MiB or 100MB";
    case VALUE_SHARE:
        return "a share like 0.7%";
    case VALUE_SKEW:
        return "a skew like 20ppm";
    }
    CHECK(!"a kind of value");
    return NULL;
}

/* Reads "12" or "12.345" as digits / 10^decimals; returns what follows, NULL when there is no number. */
static const char *read_number(const char *text, uint64_t *digits, unsigned *decimals)
{
    unsigned count = 0;
    bool fraction = false;
    *digits = 0;
    *decimals = 0;
    for (;; text++) {
        if (*text == '.' && !fraction && count > 0 && isdigit((unsigned char)text[1])) {
            fraction = true;
            continue;
        }
        if (!isdigit((unsigned char)*text))
            return count > 0 ? text : NULL;
        if (++count > DIGITS_MAX || (fraction && ++*decimals > DECIMALS_MAX))
            return NULL;
        *digits = *digits * 10 + (uint64_t)(*text - '0');
    }
}

/* digits / 10^decimals * scale, only when that is a whole number of 64 bits. */
static bool scale_number(uint64_t digits, unsigned decimals, uint64_t scale, uint64_t *value)
{
    unsigned __int128 product = (unsigned __int128)digits * scale;
    for (; decimals > 0; decimals--) {
        if (product % 10 != 0)
            return false;
        product /= 10;
    }
    *value = (uint64_t)product;
    return product <= UINT64_MAX;
}

bool value_parse_decimal(const char *text, unsigned decimals, uint64_t *value)
{
    CHECK(decimals <= 9);
    uint64_t digits, scale = 1;
    unsigned fraction;
    for (; decimals > 0; decimals--)
        scale *= 10;
    const char *rest = read_number(text, &digits, &fraction);
    return rest != NULL && *rest == '\0' && scale_number(digits, fraction, scale, value);
}

bool value_parse(enum value_kind kind, const char *text, uint64_t *value)
{
    uint64_t digits;
    unsigned decimals;
    const char *rest = read_number(text, &digits, &decimals);
    if (rest == NULL)
        return false;
    if (*rest == '\0' && (digits == 0 || kind == VALUE_SIZE))
        return scale_number(digits, decimals, 1, value);
    while (*rest == ' ')
        rest++;
    for (const struct unit *unit = units_of(kind); unit->suffix != NULL; unit++)
        if (strcmp(rest, unit->suffix) == 0)
            return scale_number(digits, decimals, unit->scale, value);
    return false;
}

bool value_parse_signed(enum value_kind kind, const char *text, int64_t *value)
{
    uint64_t size;
    bool negative = *text == '-';
    if (!value_parse(kind, text + (*text == '-' || *text == '+'), &size) || size > INT64_MAX)
        return false;
    *value = negative ? -(int64_t)size : (int64_t)size;
    return true;
}

void value_format(enum value_kind kind, uint64_t value, char text[VALUE_TEXT_BYTES])
{
    const struct unit *unit = units_of(kind);
    while (unit->scale > 1 && (value == 0 || value % unit->scale != 0))
        unit++;
    snprintf(text, VALUE_TEXT_BYTES, "%" PRIu64 "%s", value / unit->scale, unit->suffix);
}

bool conf_parse_rate(const char *text, uint64_t *bps)
{
    return value_parse(VALUE_RATE, text, bps);
}

bool conf_parse_time(const char *text, uint64_t *ns)
{
    return value_parse(VALUE_TIME, text, ns);
}

bool conf_parse_size(const char *text, uint64_t *bytes)
{
    return value_parse(VALUE_SIZE, text, bytes);
}

bool conf_parse_share(const char *text, uint64_t *ppb)
{
    return value_parse(VALUE_SHARE, text, ppb) && *ppb <= 1000000000;
}
