/* cross_traffic of a scenario: flows that are not the nodes' own. */
#include <inttypes.h>

#include "base/units.h"
#include "conf/scenario_file.h"

#define PACKET_BYTES_MIN 64
#define COUNT_MAX        1000
#define TIME_MAX_NS      (3600 * NS_PER_S)

static const struct word kind_words[] = CROSS_WORDS;
static const struct word times_words[] = {{"exponential", 0}, {"fixed", 1}, {NULL, 0}};

const struct conf_option scenario_cross_options[] = {
    {"from", OPTION_CUSTOM, FIELD(struct scenario_cross, from), .form = "name of a node",
     .read = scenario_read_node, .required = true, .help = "the node whose uplink it takes"},
    {"to", OPTION_CUSTOM, FIELD(struct scenario_cross, to), .form = "name of a node",
     .read = scenario_read_node, .required = true, .help = "the node whose downlink it takes"},
    {"kind", OPTION_WORD, FIELD(struct scenario_cross, kind), .words = kind_words, .required = true,
     .help = "cbr, poisson and onoff send whatever happens; the others obey acks"},
    {"rate", OPTION_RATE, FIELD(struct scenario_cross, rate_bps), .min = 1000, .zero_unlimited = true,
     .initial = "unlimited", .help = "wire rate of each flow; for kinds that obey acks: at most"},
    {"start", OPTION_TIME, FIELD(struct scenario_cross, start_ns), .initial = "0s", .help = "when it begins"},
    {"stop", OPTION_TIME, FIELD(struct scenario_cross, stop_ns), .max_unlimited = true,
     .initial = "unlimited", .help = "when it ends"},
    {"packet", OPTION_UINT, FIELD(struct scenario_cross, packet_bytes), .min = PACKET_BYTES_MIN,
     .max = MTU_MAX, .initial = "1500", .help = "bytes of its full-size IP packets"},
    {"count", OPTION_UINT, FIELD(struct scenario_cross, count), .min = 1, .max = COUNT_MAX, .initial = "1",
     .help = "so many such flows, each with this rate"},
    {"seed", OPTION_UINT, FIELD(struct scenario_cross, seed), .initial = "0",
     .help = "of its randomness, besides the scenario's"},
    {"on", OPTION_TIME, FIELD(struct scenario_cross, on_ns), .min = NS_PER_US, .max = TIME_MAX_NS,
     .initial = "1s", .help = "onoff: mean time that it sends"},
    {"off", OPTION_TIME, FIELD(struct scenario_cross, off_ns), .min = NS_PER_US, .max = TIME_MAX_NS,
     .initial = "1s", .help = "onoff: mean time that it pauses"},
    {"times", OPTION_WORD, FIELD(struct scenario_cross, fixed_times), .words = times_words,
     .initial = "exponential", .help = "onoff: how on and off are distributed"},
    {.type = OPTION_END}};

static bool is_open(const struct scenario_cross *cross)
{
    return cross->kind == CROSS_CBR || cross->kind == CROSS_POISSON || cross->kind == CROSS_ONOFF;
}

static bool needs_rate(const struct scenario_cross *cross)
{
    return is_open(cross) || cross->kind == CROSS_EDGE + PART_CONGESTION_FIXED;
}

static void check_packet(struct conf_reader *reader, const char *where, const struct scenario_cross *cross)
{
    const struct scenario *scenario = reader->context;
    const uint16_t ends[] = {cross->from, cross->to};
    if (!is_open(cross) && cross->packet_bytes < SCENARIO_LOOP_BYTES_MIN) {
        conf_fault(reader, where, "packet: %u bytes, but a kind that obeys acks needs at least %u",
                   cross->packet_bytes, SCENARIO_LOOP_BYTES_MIN);
        return;
    }
    for (unsigned end = 0; end < 2; end++) {
        const struct scenario_node *node = &scenario->nodes[ends[end]];
        if (cross->packet_bytes > node->mtu) {
            conf_fault(reader, where, "packet: %u bytes, but the MTU of \"%s\" is %u", cross->packet_bytes,
                       node->name, node->mtu);
            return;
        }
    }
}

void scenario_check_crosses(struct conf_reader *reader)
{
    const struct scenario *scenario = reader->context;
    unsigned flows = 0;
    for (unsigned index = 0; index < scenario->cross_count; index++) {
        const struct scenario_cross *cross = &scenario->crosses[index];
        char where[32];
        snprintf(where, sizeof(where), "cross_traffic[%u]", index);
        flows += cross->count;
        if (flows > SCENARIO_FLOWS_MAX && flows - cross->count <= SCENARIO_FLOWS_MAX)
            conf_fault(reader, where, "%u flows with those before, at most %u", flows, SCENARIO_FLOWS_MAX);
        if (cross->from >= scenario->node_count || cross->to >= scenario->node_count)
            continue; /* reported where they were read */
        if (cross->from == cross->to)
            conf_fault(reader, where, "from and to are both \"%s\"", scenario->nodes[cross->from].name);
        if (cross->rate_bps == 0 && needs_rate(cross))
            conf_fault(reader, where, "\"rate\" is missing: this kind sends at a given rate");
        if (cross->stop_ns <= cross->start_ns)
            conf_fault(reader, where, "stop is not after start");
        check_packet(reader, where, cross);
    }
}
