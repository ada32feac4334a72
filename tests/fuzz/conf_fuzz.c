/* The readers of the four kinds of YAML file. The first byte chooses the kind, the rest is the text; the
 * fifth kind is a change from a command line, put into a scenario. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "conf/conf.h"
#include "fuzz.h"

#define TEXT_MAX 16384

enum kind { KIND_NODE, KIND_JOB, KIND_SCENARIO, KIND_NET, KIND_CHANGE, KIND_COUNT };

static const char changed_text[] = "name: s\nnodes: {a: {uplink: 1Gbps}, b: }\n"
                                   "links: {default: {owd: 10ms}, list: [{from: a, to: b, loss: 1%}]}\n"
                                   "jobs: [{name: j, source: a, to: all, size: 1MB}]\n";

static bool read_kind(enum kind kind, const char *text, struct conf_errors *errors)
{
    static struct app_config config;
    static struct job_spec spec;
    static struct scenario scenario;
    static struct plan_request request;
    switch (kind) {
    case KIND_NODE:
        return conf_read_node("fuzz.yaml", text, NULL, &config, errors);
    case KIND_JOB:
        return conf_read_job("fuzz.yaml", text, &spec, errors);
    case KIND_SCENARIO:
        return conf_read_scenario("fuzz.yaml", text, &scenario, errors);
    case KIND_NET:
        return conf_read_net("fuzz.yaml", text, &request, errors);
    case KIND_CHANGE:
        return conf_read_scenario_set("fuzz.yaml", changed_text, &text, 1, &scenario, errors);
    case KIND_COUNT:
        break;
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct conf_errors errors;
    char text[TEXT_MAX + 1];
    if (size == 0 || size - 1 > TEXT_MAX)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    memset(&errors, 0, sizeof(errors));
    bool read = read_kind((enum kind)(data[0] % KIND_COUNT), text, &errors);
    CHECK(read == (errors.count == 0));
    for (unsigned index = 0; index < errors.count && index < CONF_ERRORS_MAX; index++)
        CHECK(memchr(errors.lines[index], 0, sizeof(errors.lines[index])) != NULL);
    return 0;
}

/* A file of the project, which must be in order. */
static void seed_file(struct seeds *seeds, enum kind kind, const char *name)
{
    static struct conf_errors errors;
    char path[4096];
    uint8_t seed[1 + TEXT_MAX + 1] = {(uint8_t)kind};
    snprintf(path, sizeof(path), "%s/conf/%s", seeds->root, name);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t length = fread(seed + 1, 1, TEXT_MAX, file);
    fclose(file);
    memset(&errors, 0, sizeof(errors));
    CHECK(read_kind(kind, (const char *)seed + 1, &errors));
    const char *base = strrchr(name, '/');
    seeds->emit(seeds, base + 1, seed, 1 + length);
}

static void seed_text(struct seeds *seeds, enum kind kind, const char *name, const char *text)
{
    uint8_t seed[1 + TEXT_MAX] = {(uint8_t)kind};
    memcpy(seed + 1, text, strlen(text));
    seeds->emit(seeds, name, seed, 1 + strlen(text));
}

void fuzz_seeds(struct seeds *seeds)
{
    seed_file(seeds, KIND_NODE, "nodes/example.yaml");
    seed_file(seeds, KIND_JOB, "jobs/demo.yaml");
    seed_file(seeds, KIND_JOB, "jobs/given-tree.yaml");
    seed_file(seeds, KIND_SCENARIO, "scenarios/five-sites.yaml");
    seed_file(seeds, KIND_SCENARIO, "scenarios/link-steps.yaml");
    seed_file(seeds, KIND_SCENARIO, "scenarios/policer.yaml");
    seed_text(
        seeds, KIND_SCENARIO, "cross",
        "name: s\nnodes: [a, b]\nlinks: {default: {policer: none, ecn: 5ms, queue_min: 4}}\ncross_traffic:\n"
        "  - {from: a, to: b, kind: onoff, rate: 1Mbps, on: 1s, off: 2ms, times: fixed, packet: 99}\n"
        "  - {from: b, to: a, kind: cubic, start: 1s, stop: 2s, count: 3, seed: 4}\n");
    seed_text(
        seeds, KIND_NET, "net",
        "nodes: [{name: a, up_bps: 1000, down_bps: 1000, max_children: 1}, {name: b}]\n"
        "rtt_ms: [[0, 1], [1.5, 0]]\nsource: a\nreceivers: [b]\nsize_bytes: 5\nmetric: rtt\ntrees: 1\n");
    seed_text(seeds, KIND_CHANGE, "change", "links.list[0].policer={rate: 1Mbps, depth: [2KB, {a: *b}]}");
    seed_text(seeds, KIND_CHANGE, "change_name", "nodes.b.downlink=1Gbps");
    seed_text(seeds, KIND_NET, "anchors", "a: &x [1, 2]\nb: *x\n? c\n: !!str d\n<<: {e: |\n  f\n}\n");
}
