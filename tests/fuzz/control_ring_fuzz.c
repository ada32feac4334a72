/* Records of the control ring. The first byte chooses: a record as it comes, a record whose length and
 * checksum are made right, a bare plan, a bare request. What is decoded is validated, drawn and encoded
 * again: nothing of that may depend on the record being sensible. */
#include <string.h>

#include "base/check.h"
#include "base/crc32c.h"
#include "ctl/ctl.h"
#include "fuzz.h"

enum mode { MODE_RECORD, MODE_SEALED, MODE_PLAN, MODE_REQUEST, MODE_COUNT };

static void store_le32(uint8_t *out, uint32_t value)
{
    memcpy(out, &value, sizeof(value));
}

/* Length at 0, checksum over all but itself at 20: as in lib/ctl/codec.c. */
static void seal(uint8_t *record, size_t length)
{
    static uint8_t covered[CTL_RECORD_BYTES_MAX];
    store_le32(record, (uint32_t)length);
    memcpy(covered, record, 20);
    memcpy(covered + 20, record + CTL_RECORD_HEADER_BYTES, length - CTL_RECORD_HEADER_BYTES);
    store_le32(record + 20, crc32c(covered, length - 4));
}

static void use_plan(const struct plan *plan, const uint8_t *in, size_t length)
{
    static uint8_t out[PLAN_BYTES_MAX];
    static char text[16384];
    static struct plan_request request;
    struct err err;
    size_t bytes = plan_encode(plan, out, sizeof(out));
    CHECK(bytes == length && memcmp(out, in, length) == 0);
    request = (struct plan_request){
        .job = plan->job, .epoch = plan->epoch, .node_count = plan->node_count, .source = plan->source};
    for (uint16_t node = 0; node < request.node_count; node++) {
        request.nodes[node] =
            (struct plan_node){.up_bps = 1000000000, .down_bps = 1000000000, .receiver = true};
        snprintf(request.nodes[node].name, NAME_BYTES, "n%u", node);
    }
    request.trees_max = PLAN_TREES_MAX;
    if (!plan_validate(plan, &request, &err))
        return;
    for (uint16_t tree = 0; tree < plan->tree_count; tree++)
        plan_draw(&plan->trees[tree], request.nodes, request.node_count, plan->source, NULL, text,
                  sizeof(text));
}

static void use_request(const struct plan_request *request, const uint8_t *in, size_t length)
{
    static uint8_t out[PLAN_REQUEST_BYTES_MAX];
    struct err err;
    size_t bytes = plan_request_encode(request, out, sizeof(out));
    CHECK(bytes == length && memcmp(out, in, length) == 0);
    plan_request_validate(request, &err);
}

static void use_estimate(const struct ctl_estimate *estimate, const uint8_t *in, size_t length)
{
    uint8_t out[512];
    size_t bytes = ctl_estimate_encode(estimate, out, sizeof(out));
    CHECK(bytes == length && memcmp(out, in, length) == 0);
}

static void decode_record(const uint8_t *record, size_t length)
{
    static struct ctl_msg msg;
    uint32_t sequence;
    struct err err;
    if (!ctl_decode(&msg, &sequence, record, length, &err))
        return;
    if (msg.type == CTL_PLAN)
        use_plan(&msg.body.plan, record + CTL_RECORD_HEADER_BYTES, length - CTL_RECORD_HEADER_BYTES);
    if (msg.type == CTL_PLAN_REQUEST)
        use_request(&msg.body.plan_request, record + CTL_RECORD_HEADER_BYTES,
                    length - CTL_RECORD_HEADER_BYTES);
    if (msg.type == CTL_ESTIMATE)
        use_estimate(&msg.body.estimate, record + CTL_RECORD_HEADER_BYTES, length - CTL_RECORD_HEADER_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t sealed[CTL_RECORD_BYTES_MAX];
    static struct plan plan;
    static struct plan_request request;
    struct err err;
    if (size == 0)
        return 0;
    const uint8_t *in = data + 1;
    size_t length = size - 1;
    switch ((enum mode)(data[0] % MODE_COUNT)) {
    case MODE_RECORD:
        decode_record(in, length);
        break;
    case MODE_SEALED:
        if (length < CTL_RECORD_HEADER_BYTES || length > sizeof(sealed))
            break;
        memcpy(sealed, in, length);
        seal(sealed, length);
        decode_record(sealed, length);
        break;
    case MODE_PLAN:
        if (plan_decode(&plan, in, length, &err))
            use_plan(&plan, in, length);
        break;
    case MODE_REQUEST:
        if (plan_request_decode(&request, in, length, &err))
            use_request(&request, in, length);
        break;
    case MODE_COUNT:
        break;
    }
    return 0;
}

static void emit(struct seeds *seeds, const char *name, enum mode mode, const uint8_t *in, size_t length)
{
    static uint8_t seed[1 + CTL_RECORD_BYTES_MAX];
    CHECK(length > 0);
    seed[0] = (uint8_t)mode;
    memcpy(seed + 1, in, length);
    seeds->emit(seeds, name, seed, 1 + length);
}

/* Each seed must be a record that is accepted, or it would fuzz the refusal only. */
static void emit_record(struct seeds *seeds, const char *name, const struct ctl_msg *msg)
{
    static uint8_t record[CTL_RECORD_BYTES_MAX];
    static struct ctl_msg again;
    uint32_t sequence;
    struct err err;
    size_t length = ctl_encode(msg, 7, record, sizeof(record));
    seal(record, length);
    CHECK(ctl_decode(&again, &sequence, record, length, &err) && sequence == 7);
    emit(seeds, name, MODE_SEALED, record, length);
}

static void sample_tree(struct plan_tree *tree)
{
    *tree = (struct plan_tree){.weight_ppm = 1000000, .edge_count = 3, .edges = {{0, 1}, {0, 2}, {2, 3}}};
}

void fuzz_seeds(struct seeds *seeds)
{
    static struct ctl_msg msg;
    static uint8_t bytes[PLAN_REQUEST_BYTES_MAX];
    msg = (struct ctl_msg){.type = CTL_PLANNER_HELLO, .correlation = 1};
    emit_record(seeds, "hello", &msg);
    msg = (struct ctl_msg){.type = CTL_PLAN_FAILED, .body.plan_failed = {.job = 1, .text = "no path"}};
    emit_record(seeds, "failed", &msg);
    msg = (struct ctl_msg){.type = CTL_ESTIMATE,
                           .body.estimate = {.from = "a",
                                             .to = "b",
                                             .estimate = {.kind = ESTIMATE_VALUE,
                                                          .avail_bps = 5000000000,
                                                          .low_bps = 4900000000,
                                                          .high_bps = 5100000000}}};
    emit_record(seeds, "estimate", &msg);
    msg = (struct ctl_msg){
        .type = CTL_PLAN,
        .body.plan = {
            .job = 1,
            .epoch = 1,
            .node_count = 4,
            .rate_bps = 1000000,
            .bound_bps = 2000000,
            .tree_count = 1,
            .edge_rate_bps = {1100000},
            .into_known = {{{0}, {PLAN_BASIS_TOLD, 0}, {PLAN_BASIS_MEASURED, 77}, {PLAN_BASIS_ASSUMED, 0}}}}};
    sample_tree(&msg.body.plan.trees[0]);
    emit_record(seeds, "plan", &msg);
    emit(seeds, "plan-bare", MODE_PLAN, bytes, plan_encode(&msg.body.plan, bytes, sizeof(bytes)));
    msg = (struct ctl_msg){.type = CTL_PLAN_REQUEST,
                           .body.plan_request = {.job = 1,
                                                 .epoch = 1,
                                                 .node_count = 4,
                                                 .trees_max = 1,
                                                 .metric = PLAN_METRIC_GIVEN,
                                                 .size_bytes = 1 << 20}};
    for (unsigned node = 0; node < 4; node++) {
        struct plan_node *one = &msg.body.plan_request.nodes[node];
        *one = (struct plan_node){.up_bps = 1000000000, .down_bps = 1000000000, .receiver = true};
        snprintf(one->name, NAME_BYTES, "n%u", node);
    }
    msg.body.plan_request.shared_count = 1;
    msg.body.plan_request.shared[0] = (struct plan_shared){.name = "wan", .rate_bps = 1000000000};
    msg.body.plan_request.paths[0][1] = (struct plan_path){.rtt_us = 80000,
                                                           .loss_ppm = 100,
                                                           .avb_kbps = 900000,
                                                           .avb_low_kbps = 800000,
                                                           .avb_high_kbps = 1000000,
                                                           .avb_age_s = 3,
                                                           .mtu = 1500,
                                                           .shared = 1};
    sample_tree(&msg.body.plan_request.given);
    emit_record(seeds, "request", &msg);
    emit(seeds, "request-bare", MODE_REQUEST, bytes,
         plan_request_encode(&msg.body.plan_request, bytes, sizeof(bytes)));
}
