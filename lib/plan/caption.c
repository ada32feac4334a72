#include "plan/caption.h"

#include <stdio.h>

#include "base/text.h"
#include "base/units.h"
#include "plan/words.h"

#define LIMITS_TOLD    3u
#define SIZE_BYTES_MAX (UINT64_C(1) << 60) /* what is larger is told as this: its time in ms fits 64 bits */

static struct sheet next_line(struct caption *caption)
{
    CHECK(caption->count < CAPTION_LINES_MAX);
    char *line = caption->lines[caption->count++];
    line[0] = '\0';
    return (struct sheet){.text = line, .room = CAPTION_BYTES};
}

/* From the first byte that leaves to the last one that arrives; of a stream nothing, since a stream has no end. */
static void add_time(struct sheet *sheet, const struct plan *plan, const struct plan_request *request,
                     uint64_t rate_bps)
{
    uint64_t size_bytes = MIN(request->size_bytes, SIZE_BYTES_MAX);
    uint64_t object_ms = muldiv64(size_bytes, 8000, MAX(rate_bps, SEND_RATE_MIN_BPS));
    if (request->size_bytes == 0)
        return;
    sheet_add(sheet, "expected in ");
    sheet_add_duration(sheet, object_ms + plan->delay_us / 1000);
    sheet_add(sheet, " at ");
}

static void add_object(struct caption *caption, const struct plan *plan, const struct plan_request *request,
                       unsigned receivers, unsigned slow)
{
    struct sheet sheet = next_line(caption);
    uint64_t rate_bps = slow > 0 ? plan_common_bps(plan) : plan->rate_bps;
    if (request->size_bytes == 0)
        sheet_add(&sheet, "a stream");
    else
        sheet_add_size(&sheet, request->size_bytes);
    sheet_add(&sheet, " to %u site%s, ", receivers, receivers == 1 ? "" : "s");
    add_time(&sheet, plan, request, rate_bps);
    sheet_add_rate(&sheet, rate_bps);
    sheet_add(&sheet, " of payload");
}

/* Those who get less than the others, who do not wait for them. */
static void add_slow(struct caption *caption, const struct plan *plan, const struct plan_request *request,
                     unsigned slow)
{
    struct sheet sheet = next_line(caption);
    sheet_add(&sheet, "%u of them %s slow: ", slow, slow == 1 ? "is" : "are");
    add_time(&sheet, plan, request, plan->rate_bps);
    sheet_add_rate(&sheet, plan->rate_bps);
    sheet_add(&sheet, " of payload%s", slow == 1 ? "" : " at least");
}

static void add_bound(struct caption *caption, const struct plan *plan)
{
    struct sheet sheet = next_line(caption);
    sheet_add(&sheet, "no plan brings more than ");
    sheet_add_rate(&sheet, plan->bound_bps);
    sheet_add(&sheet, " of payload; the farthest site is %u.%u ms away", (unsigned)(plan->delay_us / 1000),
              (unsigned)(plan->delay_us / 100 % 10));
}

static void add_limits(struct caption *caption, const struct plan *plan, const struct plan_request *request)
{
    unsigned told = MIN(plan->why.limit_count, LIMITS_TOLD), more = plan->why.limit_count - told;
    for (unsigned index = 0; index < told; index++) {
        const struct plan_why_limit *limit = &plan->why.limits[index];
        char text[160], raise[64];
        if (!plan_limit_text(&limit->limit, request, text, sizeof(text)))
            continue;
        bool wire = limit->limit.row != PLAN_ROW_PACKETS && limit->limit.row != PLAN_ROW_WINDOW;
        struct sheet sheet = next_line(caption);
        sheet_add(&sheet, "held by %s", text);
        if (plan_raise_text(limit, raise, sizeof(raise)) && raise[0] != '\0')
            sheet_add(&sheet, "; raise it%s %s", wire ? ", on the wire," : "", raise);
    }
    if (more > 0) {
        struct sheet sheet = next_line(caption);
        sheet_add(&sheet, "held by %u more: show plan --why", more);
    }
}

static void add_paths(struct caption *caption, const struct plan *plan, const struct plan_request *request)
{
    char known[PLAN_KNOWN_TOTAL_BYTES];
    if (!plan_known_total(plan, request, known, sizeof(known)))
        return;
    struct sheet sheet = next_line(caption);
    sheet_add(&sheet, "rates of paths: %s", known);
}

void caption_fill(struct caption *caption, const struct plan *plan, const struct plan_request *request,
                  const char *title)
{
    unsigned receivers = 0, slow = 0;
    for (uint16_t node = 0; node < request->node_count; node++) {
        receivers += request->nodes[node].receiver && node != request->source;
        slow += plan_receiver_slow(plan, request, node);
    }
    caption->count = 0;
    struct sheet sheet = next_line(caption);
    sheet_add(&sheet, "%.*s", CAPTION_TITLE_MAX - 1, title);
    text_make_printable(sheet.text);
    add_object(caption, plan, request, receivers, slow);
    if (slow > 0)
        add_slow(caption, plan, request, slow);
    add_bound(caption, plan);
    add_limits(caption, plan, request);
    add_paths(caption, plan, request);
}

void caption_add_node(struct sheet *sheet, const struct plan *plan, const struct plan_request *request,
                      const struct load *load, uint16_t node)
{
    sheet_add(sheet, "up %u %%, down %u %%%s", load_up(load, request, node) / 10,
              load_down(load, request, node) / 10, plan_receiver_slow(plan, request, node) ? ", slow" : "");
}
