#include "app/probe/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/conf.h"
#include "plan/plan.h"

/* Of cross traffic that is on and off in turn. */
#define SOURCES     20
#define ON_NS       (5 * NS_PER_MS)
#define OFF_NS      (15 * NS_PER_MS)
#define ALPHA_MILLI 1500

#define CLOCK_STEP_NS_MAX (1000 * NS_PER_S)

/* Those of a hop speak of the last one that was begun. */
enum place { OF_OPTIONS, OF_HOP };

struct option_row {
    const char *name, *form, *help;
    bool (*take)(const char *text, void *field);
    enum place place;
    size_t offset;
};

static bool take_rate(const char *text, void *field)
{
    return conf_parse_rate(text, field) && *(uint64_t *)field > 0;
}

static bool take_time(const char *text, void *field)
{
    return conf_parse_time(text, field);
}

static bool take_size(const char *text, void *field)
{
    return conf_parse_size(text, field);
}

static bool take_share(const char *text, void *field)
{
    return conf_parse_share(text, field);
}

static bool take_number(const char *text, void *field)
{
    char *end;
    *(uint64_t *)field = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0';
}

static bool take_batch(const char *text, void *field)
{
    uint64_t number;
    bool good = take_number(text, &number) && number <= NETEM_BATCH_MAX;
    *(uint32_t *)field = good ? (uint32_t)number : 0;
    return good;
}

static bool take_skew(const char *text, void *field)
{
    char *end;
    *(int64_t *)field = strtoll(text, &end, 10) * 1000;
    return end != text && strcmp(end, "ppm") == 0;
}

/* TIME:TIME, the second one with a minus where the clock jumps back */
static bool take_clock_step(const char *text, void *field)
{
    struct stamps_config *stamps = field;
    char every[32];
    const char *colon = strchr(text, ':');
    if (colon == NULL || (size_t)(colon - text) >= sizeof(every))
        return false;
    memcpy(every, text, (size_t)(colon - text));
    every[colon - text] = '\0';
    bool back = colon[1] == '-';
    uint64_t step_ns;
    if (!conf_parse_time(every, &stamps->step_every_ns) || stamps->step_every_ns < NS_PER_US ||
        !conf_parse_time(colon + 1 + back, &step_ns) || step_ns > CLOCK_STEP_NS_MAX)
        return false;
    stamps->step_ns = back ? -(int64_t)step_ns : (int64_t)step_ns;
    return true;
}

static bool take_flag(const char *text, void *field)
{
    *(bool *)field = text == NULL;
    return text == NULL;
}

static bool take_estimator(const char *text, void *field)
{
    const struct estimator_kind *kind = estimator_kind(text);
    *(const struct estimator_kind **)field = kind;
    return kind != NULL;
}

static struct netem_load load_of(unsigned kind, bool trimodal, uint64_t rate_bps)
{
    struct netem_load load = {.kind = (uint8_t)kind,
                              .wire_bytes = FULL_PACKET_WIRE_BYTES,
                              .rate_bps = rate_bps,
                              .trimodal = trimodal};
    if (kind != NETEM_LOAD_ONOFF)
        return load;
    load.sources = SOURCES;
    load.on_ns = ON_NS;
    load.off_ns = OFF_NS;
    load.alpha_milli = ALPHA_MILLI;
    load.rate_bps = muldiv64(rate_bps, ON_NS + OFF_NS, ON_NS * SOURCES);
    return load;
}

/* "none", or KIND:AMOUNT, the amount a share of the hop's capacity or a rate. */
static bool take_cross(const char *text, void *field)
{
    static const char *const kinds[] = {
        [NETEM_LOAD_CBR] = "cbr", [NETEM_LOAD_POISSON] = "poisson", [NETEM_LOAD_ONOFF] = "onoff"};
    struct hop_config *hop = field;
    uint64_t share_ppb, rate_bps;
    const char *colon = strchr(text, ':');
    hop->cross_bps = hop->link.load_count = 0;
    if (colon == NULL)
        return strcmp(text, "none") == 0;
    unsigned kind = 0;
    while (kind < 3 && strncmp(text, kinds[kind], MAX((size_t)(colon - text), strlen(kinds[kind]))) != 0)
        kind++;
    if (conf_parse_share(colon + 1, &share_ppb))
        rate_bps = muldiv64(hop->link.rate_bps, share_ppb, NS_PER_S);
    else if (!conf_parse_rate(colon + 1, &rate_bps))
        return false;
    if (kind == 3 || rate_bps > NETEM_BACKGROUND_BPS_MAX)
        return false;
    hop->link.load_count = rate_bps > 0;
    hop->link.loads[0] = load_of(kind, hop->link.loads[0].trimodal, rate_bps);
    hop->cross_bps = netem_config_cross_bps(&hop->link);
    return true;
}

static bool take_queue(const char *text, void *field)
{
    struct hop_config *hop = field;
    hop->link.queue_unit = NETEM_QUEUE_NS;
    if (conf_parse_time(text, &hop->link.queue_limit))
        return true;
    hop->link.queue_unit = NETEM_QUEUE_BYTES;
    return conf_parse_size(text, &hop->link.queue_limit);
}

/* RATE/SIZE */
static bool take_bucket(const char *text, uint64_t *rate_bps, uint64_t *depth_bytes)
{
    char rate[32];
    const char *slash = strchr(text, '/');
    if (slash == NULL || (size_t)(slash - text) >= sizeof(rate))
        return false;
    memcpy(rate, text, (size_t)(slash - text));
    rate[slash - text] = '\0';
    return take_rate(rate, rate_bps) && conf_parse_size(slash + 1, depth_bytes) &&
           *depth_bytes <= NETEM_DEPTH_BYTES_MAX;
}

static bool take_policer(const char *text, void *field)
{
    struct hop_config *hop = field;
    return take_bucket(text, &hop->link.policer_bps, &hop->link.policer_depth_bytes);
}

static bool take_shaper(const char *text, void *field)
{
    struct hop_config *hop = field;
    return take_bucket(text, &hop->link.shaper_bps, &hop->link.shaper_depth_bytes);
}

/* TIME:RATE */
static bool take_step(const char *text, void *field)
{
    struct hop_config *hop = field;
    struct hop_step *step = &hop->steps[hop->step_count];
    char time[32];
    const char *colon = strchr(text, ':');
    if (hop->step_count == HOP_STEPS_MAX || colon == NULL || (size_t)(colon - text) >= sizeof(time))
        return false;
    memcpy(time, text, (size_t)(colon - text));
    time[colon - text] = '\0';
    if (!conf_parse_time(time, &step->at_ns) || !take_rate(colon + 1, &step->rate_bps) ||
        (hop->step_count > 0 && step->at_ns <= step[-1].at_ns))
        return false;
    hop->step_count++;
    return true;
}

static bool take_next_hop(const char *text, void *field)
{
    struct world_config *world = field;
    if (text != NULL || world->hop_count == WORLD_HOPS_MAX)
        return false;
    world->hops[world->hop_count].link.rate_bps = 10000000000ULL;
    world->hop_count++;
    return true;
}

#define HERE(field)   OF_OPTIONS, offsetof(struct options, field)
#define AT_HOP(field) OF_HOP, offsetof(struct hop_config, field)

static const struct option_row rows[] = {
    {"estimator", "NAME", "which one (the first of: below)", take_estimator, HERE(run.kind)},
    {"runs", "NUMBER", "measurements, pooled (1)", take_number, HERE(runs)},
    {"seed", "NUMBER", "of the first run; the next one has the next (1)", take_number, HERE(seed)},
    {"sender", "RATE", "the sender's port (40Gbps)", take_rate, HERE(run.goal.port_bps)},
    {"receiver", "RATE", "the receiver's, as it tells; the fastest that the last hop is at any time",
     take_rate, HERE(run.goal.receiver_bps)},
    {"rtt", "TIME", "of the idle path (1ms)", take_time, HERE(rtt_ns)},
    {"capacity", "RATE", "hop: what it serves (10Gbps)", take_rate, AT_HOP(link.rate_bps)},
    {"imix", NULL, "hop: packets of its cross traffic are of 64, 576 and 1500 bytes, 7:4:1; stands before it",
     take_flag, AT_HOP(link.loads[0].trimodal)},
    {"cross", "KIND:AMOUNT",
     "hop: none; or cbr, poisson or onoff (20 Pareto sources), a share of its capacity or a rate", take_cross,
     OF_HOP, 0},
    {"queue", "TIME or SIZE", "hop: most that waits (no limit)", take_queue, OF_HOP, 0},
    {"policer", "RATE/SIZE", "hop: drops what exceeds that rate by that depth (none)", take_policer, OF_HOP,
     0},
    {"shaper", "RATE/SIZE", "hop: delays what exceeds that rate by that depth (none)", take_shaper, OF_HOP,
     0},
    {"step", "TIME:RATE", "hop: its capacity from that time of a run on; may be repeated", take_step, OF_HOP,
     0},
    {"next-hop", NULL, "what follows speaks of another hop, behind the one before", take_next_hop,
     HERE(run.world)},
    {"loss", "SHARE", "of packets, in front of the hops (0%)", take_share, HERE(run.world.approach.loss_ppb)},
    {"jitter", "TIME", "each packet is late by up to that, order kept (0s)", take_time,
     HERE(run.world.approach.jitter_ns)},
    {"late", "SHARE", "of packets that are late … (0%)", take_share, HERE(run.world.approach.delay_some_ppb)},
    {"late-by", "TIME", "… by so much, and overtaken (50us)", take_time,
     HERE(run.world.approach.delay_some_ns)},
    {"behind", NULL, "loss, jitter and late packets come behind the hops", take_flag,
     HERE(run.world.approach_last)},
    {"batch", "NUMBER", "packets that the receiver stamps together (1)", take_batch,
     HERE(run.world.receiver.stamping.batch)},
    {"batch-time", "TIME", "it looks so often at least (50us)", take_time,
     HERE(run.world.receiver.stamping.batch_ns)},
    {"noise", "TIME", "standard deviation of a receiver's stamp (0s)", take_time,
     HERE(run.world.receiver.stamping.noise_ns)},
    {"sender-noise", "TIME", "… of a sender's (0s)", take_time, HERE(run.world.sender.stamping.noise_ns)},
    {"granularity", "TIME", "the receiver's clock ticks so often (1ns)", take_time,
     HERE(run.world.receiver.stamping.granularity_ns)},
    {"skew", "NUMBERppm", "the receiver's clock runs so much faster (0ppm)", take_skew,
     HERE(run.world.receiver.skew_ppb)},
    {"clock-step", "TIME:TIME", "… and jumps so often by so much, or by -TIME (it does not)", take_clock_step,
     HERE(run.world.receiver)},
    {"period", "TIME", "goal: the measurement takes that long (0s: as short as can be)", take_time,
     HERE(period_ns)},
    {"width", "SHARE", "goal: half-width of the interval, of the capacity (1%)", take_share, HERE(width_ppb)},
    {"bytes", "SIZE", "goal: that all trains may take (no limit)", take_size, HERE(run.goal.bytes_max)},
    {"queue-max", "SIZE", "goal: that trains may add to a queue (250KB)", take_size,
     HERE(run.goal.queue_bytes_max)},
    {"load", "SHARE", "goal: of the path, that trains may take over any 10 s (1%; 0%: no limit)", take_share,
     HERE(load_ppb)},
    {"continuous", NULL, "goal: it goes on until --limit", take_flag, HERE(run.goal.continuous)},
    {"every", "TIME", "continuous: time between looks (100ms)", take_time, HERE(run.every_ns)},
    {"limit", "TIME", "a run is ended then (60s)", take_time, HERE(run.limit_ns)},
    {"harm", NULL, "find out what trains do to the cross traffic", take_flag, HERE(run.world.harm)},
    {"pairs", "NUMBER", "all pairs of so many hosts, each a run for each seed, without cross (none)",
     take_number, HERE(pairs.nodes)},
    {"sites", "NUMBER", "pairs: in so many sites (4)", take_number, HERE(pairs.sites)},
    {"egress", "RATE", "pairs: of a site's way out (40Gbps)", take_rate, HERE(pairs.egress_bps)},
    {"load-most", "SHARE", "pairs: each path's Poisson load is drawn up to this (80%)", take_share,
     HERE(pairs.load_ppb_max)},
    {"keep", "NUMBER", "pairs: paths into each host that matter for a plan (4)", take_number,
     HERE(pairs.keep)},
    {"coarse", "SHARE", "pairs: half-width that all are measured to (2.5%)", take_share,
     HERE(pairs.coarse_ppb)},
    {"fine", "SHARE", "pairs: … those that matter for a plan (1%)", take_share, HERE(pairs.fine_ppb)},
    {"each", NULL, "a line of JSON for each run, and for each look of continuous ones", take_flag,
     HERE(each)},
    {"json", NULL, "figures as one JSON object", take_flag, HERE(json)},
    {"help", NULL, "this text", take_flag, HERE(help)},
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

void options_help(FILE *out)
{
    fprintf(out,
            "usage: sluice-probe [OPTION]...: an estimator of available bandwidth against the link model\n");
    for (unsigned i = 0; i < ROWS; i++) {
        char form[40];
        snprintf(form, sizeof(form), "--%s %s", rows[i].name, rows[i].form != NULL ? rows[i].form : "");
        fprintf(out, "  %-24s %s\n", form, rows[i].help);
    }
    fprintf(out, "  %-24s %s\nestimators:", "--version", "release and commit");
    for (unsigned i = 0; estimator_kinds[i] != NULL; i++)
        fprintf(out, " %s", estimator_kinds[i]->name);
    fprintf(out, "\nexit status: 0 it was measured, 1 no memory, or no plan of --pairs, 2 usage\n");
}

static const struct option_row *row_of(const char *argument)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (strncmp(argument, "--", 2) == 0 && strcmp(argument + 2, rows[i].name) == 0)
            return &rows[i];
    return NULL;
}

static void set_defaults(struct options *options)
{
    *options = (struct options){
        .runs = 1, .seed = 1, .rtt_ns = NS_PER_MS, .width_ppb = 10000000, .load_ppb = 10000000};
    struct run_config *run = &options->run;
    run->kind = estimator_kinds[0];
    run->limit_ns = 60 * NS_PER_S;
    run->every_ns = 100 * NS_PER_MS;
    run->goal = (struct estimator_goal){
        .port_bps = 40000000000ULL, .wire_bytes = FULL_PACKET_WIRE_BYTES, .queue_bytes_max = 250000};
    run->world.receiver =
        (struct stamps_config){.stamping = {.batch_ns = 50 * NS_PER_US}, .offset_ns = 3 * NS_PER_S};
    run->world.approach.delay_some_ns = 50 * NS_PER_US;
    take_next_hop(NULL, &run->world);
    options->pairs.sites = options->pairs.keep = 4;
    options->pairs.egress_bps = 40000000000ULL;
    options->pairs.load_ppb_max = 800000000;
    options->pairs.coarse_ppb = 25000000;
    options->pairs.fine_ppb = 10000000;
}

/* What follows from what was said. */
static void settle(struct options *options)
{
    struct run_config *run = &options->run;
    struct world_config *world = &run->world;
    world->back_ns = options->rtt_ns / 2;
    world->approach.delay_ns = options->rtt_ns - world->back_ns;
    run->goal.rtt_ns = options->rtt_ns;
    run->goal.duration_ns = options->period_ns;
    run->goal.width_ppm = options->width_ppb / 1000;
    run->goal.load_ppm = (uint32_t)(options->load_ppb / 1000);
    run->goal.sender = stamps_floor(&world->sender);
    run->goal.receiver = stamps_floor(&world->receiver);
    const struct hop_config *last = &world->hops[world->hop_count - 1];
    if (!run->goal.continuous)
        run->every_ns = 0;
    run->goal.continuous |= options->pairs.nodes > 0;
    options->pairs.limit_ns = run->limit_ns;
    if (run->goal.receiver_bps != 0)
        return;
    run->goal.receiver_bps = last->link.rate_bps;
    for (unsigned i = 0; i < last->step_count; i++)
        run->goal.receiver_bps = MAX(run->goal.receiver_bps, last->steps[i].rate_bps);
}

bool options_read(struct options *options, int count, char **arguments)
{
    set_defaults(options);
    for (int i = 1; i < count; i++) {
        const struct option_row *row = row_of(arguments[i]);
        if (row == NULL) {
            fprintf(stderr, "sluice-probe: %s: no such option, see --help\n", arguments[i]);
            return false;
        }
        const char *text = row->form != NULL && i + 1 < count ? arguments[++i] : NULL;
        struct world_config *world = &options->run.world;
        char *base = row->place == OF_HOP ? (char *)&world->hops[world->hop_count - 1] : (char *)options;
        if ((row->form != NULL && text == NULL) || !row->take(text, base + row->offset)) {
            fprintf(stderr, "sluice-probe: --%s %s: expected %s\n", row->name, text != NULL ? text : "",
                    row->form != NULL ? row->form : "no more of these");
            return false;
        }
    }
    settle(options);
    options->pairs.run = options->run;
    uint64_t nodes = options->pairs.nodes;
    bool good = nodes == 0 || (nodes > 1 && nodes <= PLAN_NODES_MAX && nodes <= ROTATION_NODES_MAX &&
                               options->pairs.keep > 0 && options->pairs.sites > 0 &&
                               options->pairs.sites <= MIN(nodes, (uint64_t)PLAN_SHARED_MAX));
    if (!good)
        fprintf(stderr, "sluice-probe: --pairs: 2 to %d hosts, no more sites than these or %d\n",
                MIN(PLAN_NODES_MAX, ROTATION_NODES_MAX), PLAN_SHARED_MAX);
    return good;
}
