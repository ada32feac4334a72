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
    {"ecn", OPTION_BOOL, FIELD(struct scenario_cross, ecn), .initial = "false",
     .help = "cubic: its packets are ECN-capable, and marks are answered as losses are (RFC 3168)"},
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
        if (cross->ecn && cross->kind != CROSS_CUBIC)
            conf_fault(reader, where, "ecn: only cubic can be told to use it");
        if (cross->stop_ns <= cross->start_ns)
            conf_fault(reader, where, "stop is not after start");
        check_packet(reader, where, cross);
    }
}

/* ---- matrices.cross_mbps on interfaces ---- */

/* What of `part` is left behind a shaper to which `sum` comes. */
static uint64_t passed_bps(uint64_t part_bps, uint64_t sum_bps, uint64_t rate_bps)
{
    return rate_bps == 0 || sum_bps <= rate_bps ? part_bps : muldiv64(part_bps, rate_bps, sum_bps);
}

static void spread_uplink(struct scenario *scenario, uint16_t from)
{
    struct netem_config *uplink = &scenario->nodes[from].uplink;
    uint64_t sum_bps = 0;
    for (uint16_t to = 0; to < scenario->node_count; to++)
        sum_bps += scenario->links[from][to].background_bps;
    uplink->background_bps = sum_bps;
    for (uint16_t to = 0; to < scenario->node_count; to++) {
        struct netem_config *link = &scenario->links[from][to];
        link->background_bps = passed_bps(link->background_bps, sum_bps, uplink->rate_bps);
    }
}

static void spread_shared(struct scenario *scenario, struct scenario_shared *shared)
{
    uint64_t sum_bps = 0;
    for (unsigned pass = 0; pass < 2; pass++)
        for (uint16_t from = 0; from < scenario->node_count; from++)
            for (uint16_t to = 0; to < scenario->node_count; to++) {
                uint64_t *link_bps = &scenario->links[from][to].background_bps;
                if ((shared->members[from] >> to & 1) == 0)
                    continue;
                if (pass == 0)
                    sum_bps += *link_bps;
                else
                    *link_bps = passed_bps(*link_bps, sum_bps, shared->link.rate_bps);
            }
    shared->link.background_bps = sum_bps;
}

static void spread_downlink(struct scenario *scenario, uint16_t to)
{
    uint64_t sum_bps = 0;
    for (uint16_t from = 0; from < scenario->node_count; from++) {
        const struct netem_config *link = &scenario->links[from][to];
        sum_bps += passed_bps(link->background_bps, link->background_bps, link->rate_bps);
    }
    scenario->nodes[to].downlink.background_bps = sum_bps;
}

/* Cross traffic takes nothing from a link without a rate, which nobody means. */
static void check_path_rates(struct conf_reader *reader)
{
    const struct scenario *scenario = reader->context;
    for (uint16_t from = 0; from < scenario->node_count; from++)
        for (uint16_t to = 0; to < scenario->node_count; to++) {
            const struct netem_config *link = &scenario->links[from][to];
            if (link->background_bps == 0 || link->rate_bps != 0)
                continue;
            conf_fault(reader, "matrices.cross_mbps",
                       "the link [%s, %s] has no rate of which it could take some",
                       scenario->nodes[from].name, scenario->nodes[to].name);
            return;
        }
}

/* Each shaper gets the sum of what reaches it: what the one before has no rate for does not come to the next. */
void scenario_spread_cross(struct conf_reader *reader)
{
    struct scenario *scenario = reader->context;
    const yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    bool given = conf_find(reader, conf_find(reader, root, "matrices"), "cross_mbps") != NULL;
    if (!given && conf_find(reader, root, "cross_on") != NULL)
        conf_fault(reader, "cross_on", "goes with matrices.cross_mbps");
    if (given && scenario->cross_on == CROSS_ON_PATH)
        check_path_rates(reader);
    if (!given || scenario->cross_on != CROSS_ON_INTERFACES)
        return;
    for (uint16_t from = 0; from < scenario->node_count; from++)
        spread_uplink(scenario, from);
    for (uint16_t index = 0; index < scenario->shared_count; index++)
        spread_shared(scenario, &scenario->shared[index]);
    for (uint16_t to = 0; to < scenario->node_count; to++)
        spread_downlink(scenario, to);
}
