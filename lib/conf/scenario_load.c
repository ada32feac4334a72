/* Cross traffic of a link model: lists of loads on links, interfaces and shared links. */
#include <string.h>

#include "base/units.h"
#include "conf/scenario_file.h"
#include "conf/value.h"

#define IP_BYTES_MIN    64
#define TIME_MAX_NS     (3600 * NS_PER_S)
#define RATE_MAX_BPS    1000000000000ULL
#define ALPHA_MAX_MILLI 100000

static const struct word kind_words[] = {
    {"cbr", NETEM_LOAD_CBR}, {"poisson", NETEM_LOAD_POISSON}, {"onoff", NETEM_LOAD_ONOFF}, {NULL, 0}};

static bool parse_packet(const struct conf_option *option, const char *text, void *field)
{
    struct netem_load *load = field;
    uint64_t ip_bytes;
    (void)option;
    load->trimodal = strcmp(text, "trimodal") == 0;
    load->wire_bytes = FULL_PACKET_WIRE_BYTES;
    if (load->trimodal)
        return true;
    if (!value_parse_decimal(text, 0, &ip_bytes) || ip_bytes < IP_BYTES_MIN || ip_bytes > MTU_MAX)
        return false;
    load->wire_bytes = (uint32_t)ip_bytes + WIRE_OVERHEAD_BYTES;
    return true;
}

static bool parse_alpha(const struct conf_option *option, const char *text, void *field)
{
    uint64_t milli;
    (void)option;
    if (!value_parse_decimal(text, 3, &milli) || milli <= 1000 || milli > ALPHA_MAX_MILLI)
        return false;
    memcpy(field, &(uint32_t){(uint32_t)milli}, sizeof(uint32_t));
    return true;
}

const struct conf_option scenario_load_options[] = {
    {"kind", OPTION_WORD, FIELD(struct netem_load, kind), .words = kind_words, .required = true,
     .help = "evenly spaced, with exponential gaps, or sources that are on and off in turn"},
    {"rate", OPTION_RATE, FIELD(struct netem_load, rate_bps), .min = 1000, .max = RATE_MAX_BPS,
     .required = true, .help = "wire rate; onoff: of one source while it is on"},
    {"packet", OPTION_SCALAR, .bytes = sizeof(struct netem_load),
     .form = "bytes of an IP packet from 64 to 9216, or trimodal", .parse = parse_packet, .initial = "1500",
     .help = "trimodal: 64, 576 and 1500 bytes, 7 : 4 : 1 in number"},
    {"sources", OPTION_UINT, FIELD(struct netem_load, sources), .min = 1, .max = NETEM_SOURCES_MAX,
     .initial = "1", .help = "onoff: how many, independent of each other"},
    {"on", OPTION_TIME, FIELD(struct netem_load, on_ns), .min = NS_PER_US, .max = TIME_MAX_NS,
     .initial = "5ms", .help = "onoff: mean time on"},
    {"off", OPTION_TIME, FIELD(struct netem_load, off_ns), .min = NS_PER_US, .max = TIME_MAX_NS,
     .initial = "15ms", .help = "onoff: mean time off"},
    {"alpha", OPTION_SCALAR, FIELD(struct netem_load, alpha_milli), .form = "a number above 1, at most 100",
     .parse = parse_alpha, .initial = "1.5",
     .help = "onoff: exponent of these times' (Pareto) distribution; below 2 they are bursty at all scales"},
    {"seed", OPTION_UINT, FIELD(struct netem_load, seed), .initial = "0",
     .help = "of its randomness, besides the scenario's"},
    {.type = OPTION_END}};

/* Cross traffic takes nothing from a link without a rate, which nobody means. */
void scenario_check_loads(struct conf_reader *reader)
{
    const struct scenario *scenario = reader->context;
    for (uint16_t from = 0; from < scenario->node_count; from++)
        for (uint16_t to = 0; to < scenario->node_count; to++) {
            const struct netem_config *link = &scenario->links[from][to];
            if (from == to || link->load_count == 0 || netem_config_drain_bps(link) != 0)
                continue;
            conf_fault(reader, "links", "[%s, %s] has cross traffic, but no rate of which it could take some",
                       scenario->nodes[from].name, scenario->nodes[to].name);
            return;
        }
}
