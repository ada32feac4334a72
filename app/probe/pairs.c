#include "app/probe/pairs.h"

#include <math.h>
#include <stdlib.h>

#include "app/probe/worth.h"
#include "base/units.h"

/* Long before a train cross traffic has forgotten how it began: at 80 % in 31 us. */
#define WARM_NS    (2 * NS_PER_MS)
#define BEGIN_NS   (10 * NS_PER_MS)
#define TRAIN_NS   (2500 * NS_PER_US) /* the longest that a slot has room for */
#define GUARD_NS   (100 * NS_PER_US)
#define TIMEOUT_NS NS_PER_S
#define PASSES     100000
#define GAP        0.05
#define FULL_NS    (2500 * NS_PER_MS)
#define FULL_BYTES 25000000

struct pair {
    void *state;
    struct hop_config hop;
    struct train_shape shape; /* asked for, and not yet sent */
    bool asked;
    uint64_t at_ns;
};

/* A train of the running slot, or one whose report is under way. */
struct flight {
    uint16_t from, to;
    uint64_t start_ns, due_ns;
    struct train_shape shape;
    struct world world;
    struct world_config config;
    struct train_record record;
    struct flight *next;
};

struct all {
    const struct pairs_config *config;
    struct rng rng;
    struct pair *pairs; /* [from * nodes + to] */
    struct known *known;
    struct order order;
    struct rotation rotation;
    struct netem_link egress[ROTATION_NODES_MAX];
    struct flight *slot, *reports, *spare; /* reports: by due_ns */
    uint64_t slot_ns, now_ns, bytes;
};

static struct pair *pair_of(struct all *all, uint16_t from, uint16_t to)
{
    return &all->pairs[from * all->config->nodes + to];
}

static unsigned site_of(const struct all *all, uint16_t node)
{
    return (unsigned)(node * all->config->sites / all->config->nodes);
}

static bool is_pair(const struct all *all, uint64_t index)
{
    return index / all->config->nodes != index % all->config->nodes;
}

static uint64_t count_of(const struct all *all)
{
    return all->config->nodes * all->config->nodes;
}

/* ---- one slot: all its trains through the sites' ways out, and each through its own link ---- */

/* The train whose next packet comes first of those that leave the site; NULL: none is left. */
static struct flight *first_of(struct all *all, unsigned site, uint32_t *places)
{
    struct flight *first = NULL;
    uint64_t first_ns = TIME_NEVER;
    unsigned index = 0;
    for (struct flight *flight = all->slot; flight != NULL; flight = flight->next, index++) {
        bool leaves = site_of(all, flight->from) == site && site_of(all, flight->to) != site;
        if (!leaves || places[index] == flight->world.packet_count)
            continue;
        if (flight->world.packets[places[index]].at_ns < first_ns) {
            first = flight;
            first_ns = flight->world.packets[places[index]].at_ns;
        }
    }
    return first;
}

static unsigned index_of(const struct all *all, const struct flight *flight)
{
    unsigned index = 0;
    for (const struct flight *one = all->slot; one != flight; one = one->next)
        index++;
    return index;
}

static void leave_site(struct all *all, unsigned site)
{
    uint32_t places[ROTATION_NODES_MAX] = {0};
    for (struct flight *flight; (flight = first_of(all, site, places)) != NULL;) {
        struct passing *packet = &flight->world.packets[places[index_of(all, flight)]++];
        uint32_t wire_bytes = flight->shape.wire_bytes;
        struct netem_decision decision =
            netem_send(&all->egress[site], wire_bytes, wire_bytes - WIRE_OVERHEAD_BYTES, packet->at_ns);
        packet->at_ns = decision.arrive_ns;
    }
}

static void add_report(struct all *all, struct flight *flight)
{
    struct flight **place = &all->reports;
    while (*place != NULL && (*place)->due_ns <= flight->due_ns)
        place = &(*place)->next;
    flight->next = *place;
    *place = flight;
}

static void send_slot(struct all *all)
{
    for (unsigned site = 0; site < all->config->sites; site++)
        leave_site(all, site);
    for (struct flight *flight = all->slot, *next; flight != NULL; flight = next) {
        next = flight->next;
        flight->due_ns = world_arrive(&flight->world, &flight->shape, flight->start_ns, &flight->record);
        add_report(all, flight);
    }
    all->slot = NULL;
}

/* ---- from slots to estimates ---- */

static void take_reports(struct all *all, uint64_t until_ns)
{
    const struct estimator_kind *kind = all->config->run.kind;
    for (struct flight *flight; (flight = all->reports) != NULL && flight->due_ns <= until_ns;) {
        struct pair *pair = pair_of(all, flight->from, flight->to);
        struct known *known = &all->known[flight->from * all->config->nodes + flight->to];
        struct estimate estimate;
        all->reports = flight->next;
        all->now_ns = MAX(all->now_ns, flight->due_ns);
        kind->take(pair->state, flight->record.count > 0 ? &flight->record : NULL, all->now_ns);
        kind->result(pair->state, all->now_ns, &estimate);
        *known = (struct known){.drift_bps =
                                    known->drift_bps}; /* the estimator has pooled all of its own already */
        order_take(&all->order, flight->from, flight->to, &estimate, all->now_ns);
        rotation_take(&all->rotation, flight->from, flight->to, flight->record.count > 0);
        flight->next = all->spare;
        all->spare = flight;
    }
    all->now_ns = MAX(all->now_ns, until_ns);
}

static struct flight *new_flight(struct all *all)
{
    struct flight *flight = all->spare;
    if (flight == NULL)
        flight = calloc(1, sizeof(*flight));
    else
        all->spare = flight->next;
    CHECK(flight != NULL);
    return flight;
}

/* The pair's turn: its estimator's train, if it has one that is due. */
static void take_turn(struct all *all, const struct rotation_train *turn)
{
    struct pair *pair = pair_of(all, turn->from, turn->to);
    if (!pair->asked &&
        all->config->run.kind->next(pair->state, turn->at_ns, &pair->shape, &pair->at_ns) == ESTIMATOR_TRAIN)
        pair->asked = true;
    if (!pair->asked || pair->at_ns > turn->at_ns) {
        rotation_take(&all->rotation, turn->from, turn->to, true);
        return;
    }
    CHECK(train_duration_ns(&pair->shape) <= TRAIN_NS);
    struct flight *flight = new_flight(all);
    flight->from = turn->from;
    flight->to = turn->to;
    flight->start_ns = turn->at_ns;
    flight->shape = pair->shape;
    flight->config = all->config->run.world;
    flight->config.hops[0] = pair->hop;
    world_begin(&flight->world, &flight->config, rng_next(&all->rng), turn->at_ns, turn->at_ns - WARM_NS);
    world_depart(&flight->world, &flight->shape, flight->start_ns);
    flight->next = all->slot;
    all->slot = flight;
    all->bytes += train_bytes(&pair->shape);
    pair->asked = false;
}

/* False: nothing is worth a train any more. */
static bool want(struct all *all)
{
    uint64_t wanted = 0;
    order_look(&all->order, all->now_ns);
    for (uint16_t from = 0; from < all->config->nodes; from++) {
        uint64_t to_bits = order_wanted(&all->order, from);
        rotation_want(&all->rotation, from, to_bits);
        wanted |= to_bits;
    }
    return wanted != 0;
}

/* Until nothing is worth a train, or time is up. */
static void rotate(struct all *all)
{
    struct rotation_train turn;
    uint64_t end_ns = BEGIN_NS + all->config->limit_ns, pass_ns = BEGIN_NS;
    for (;;) {
        enum rotation_step step = rotation_next(&all->rotation, all->now_ns, &turn);
        if (step == ROTATION_TRAIN && turn.at_ns < end_ns) {
            if (turn.at_ns != all->slot_ns)
                send_slot(all);
            all->slot_ns = turn.at_ns;
            take_reports(all, turn.at_ns);
            take_turn(all, &turn);
            continue;
        }
        send_slot(all);
        if (step != ROTATION_PASS || !want(all))
            break;
        if (all->now_ns == pass_ns) /* an empty one: what is wanted comes back by a report */
            take_reports(all, all->reports != NULL ? all->reports->due_ns : end_ns);
        pass_ns = all->now_ns;
    }
    take_reports(all, all->now_ns + TIMEOUT_NS / 10);
}

static struct rotation_goal rotation_goal_of(const struct all *all)
{
    const struct pairs_config *config = all->config;
    struct rotation_goal goal = {.node_count = (uint16_t)config->nodes,
                                 .passes = PASSES,
                                 .train_ns = TRAIN_NS,
                                 .train_bytes = config->run.goal.queue_bytes_max,
                                 .train_bps = config->run.goal.port_bps,
                                 .guard_ns = GUARD_NS,
                                 .timeout_ns = TIMEOUT_NS};
    for (uint16_t node = 0; node < config->nodes; node++) {
        goal.group_of[node] = (uint16_t)site_of(all, node);
        goal.group_bps[node] = config->egress_bps;
    }
    return goal;
}

static bool begin(struct all *all, const struct pairs_config *config, uint64_t seed)
{
    uint64_t count = config->nodes * config->nodes;
    *all = (struct all){.config = config,
                        .pairs = calloc(count, sizeof(*all->pairs)),
                        .known = calloc(count, sizeof(*all->known)),
                        .now_ns = BEGIN_NS};
    bool good = all->pairs != NULL && all->known != NULL;
    rng_init(&all->rng, seed);
    for (uint64_t i = 0; good && i < count; i++) {
        struct pair *pair = &all->pairs[i];
        pair->hop = config->run.world.hops[0];
        uint64_t load_ppb = rng_below(&all->rng, config->load_ppb_max + 1);
        pair->hop.cross_bps = muldiv64(pair->hop.link.rate_bps, load_ppb, NS_PER_S);
        pair->hop.link.load_count = pair->hop.cross_bps > 0;
        pair->hop.link.loads[0] = (struct netem_load){.kind = NETEM_LOAD_POISSON,
                                                      .wire_bytes = FULL_PACKET_WIRE_BYTES,
                                                      .rate_bps = pair->hop.cross_bps};
        pair->state = malloc(estimator_bytes());
        good = pair->state != NULL;
        if (good) /* each has random times of its own */
            config->run.kind->start(pair->state, &config->run.goal,
                                    BEGIN_NS + rng_below(&all->rng, NS_PER_MS));
    }
    struct netem_config egress = {.rate_bps = config->egress_bps};
    for (uint64_t site = 0; site < config->sites; site++)
        netem_init(&all->egress[site], &egress, rng_next(&all->rng), NULL, 0);
    return good;
}

static void free_flights(struct flight *flight)
{
    for (struct flight *next; flight != NULL; flight = next) {
        next = flight->next;
        world_end(&flight->world);
        free(flight);
    }
}

static void end(struct all *all)
{
    for (uint64_t i = 0; all->pairs != NULL && i < count_of(all); i++)
        free(all->pairs[i].state);
    free_flights(all->slot);
    free_flights(all->reports);
    free_flights(all->spare);
    free(all->pairs);
    free(all->known);
}

/* ---- what it is worth ---- */

/* What was so, and what two measurements say, [from * nodes + to]. */
struct answers {
    uint64_t *true_bps;
    struct estimate *found, *full;
};

/* Every pair by itself, as long and with as many bytes as the most exact measurement takes. */
static bool measure_in_full(struct all *all, uint64_t seed, struct estimate *full, double *bytes)
{
    static struct run run;
    struct run_config config = all->config->run;
    config.goal.continuous = false;
    config.goal.duration_ns = FULL_NS;
    config.goal.bytes_max = FULL_BYTES;
    config.every_ns = 0;
    config.limit_ns = 2 * FULL_NS;
    for (uint64_t i = 0; i < count_of(all); i++) {
        struct run_result result;
        if (!is_pair(all, i))
            continue;
        config.world.hops[0] = all->pairs[i].hop;
        if (!run_create(&run, &config))
            return false;
        run_measure(&run, seed * 1000000 + i, NULL, NULL, &result);
        run_destroy(&run);
        full[i] = result.look.estimate;
        *bytes += (double)result.bytes;
    }
    return true;
}

/* Of pairs that the one says lie further apart than the gap: how well what was found orders them, from -1 to 1. `one` NULL:
 * the truth. */
static double kendall(const struct all *all, const struct answers *answers, const struct estimate *one)
{
    double same = 0, count = 0, gap_bps = GAP * (double)all->config->run.world.hops[0].link.rate_bps;
    for (uint64_t i = 0; i < count_of(all); i++)
        for (uint64_t k = 0; k < i; k++) {
            uint64_t i_bps = one != NULL ? one[i].avail_bps : answers->true_bps[i];
            uint64_t k_bps = one != NULL ? one[k].avail_bps : answers->true_bps[k];
            double apart = (double)i_bps - (double)k_bps;
            double found = (double)answers->found[i].avail_bps - (double)answers->found[k].avail_bps;
            if (!is_pair(all, i) || !is_pair(all, k) || fabs(apart) <= gap_bps)
                continue;
            count++;
            same += apart * found > 0;
        }
    return count > 0 ? 2 * same / count - 1 : 1;
}

static double deviation(const struct all *all, const struct answers *answers, const struct estimate *of)
{
    double sum = 0, nodes = (double)all->config->nodes;
    for (uint64_t i = 0; i < count_of(all); i++) {
        double error = ((double)answers->true_bps[i] - (double)of[i].avail_bps) /
                       (double)all->config->run.world.hops[0].link.rate_bps;
        sum += is_pair(all, i) ? error * error : 0;
    }
    return sqrt(sum / (nodes * (nodes - 1)));
}

static bool judge(struct all *all, uint64_t seed, struct arena *solver, struct pairs_figures *figures)
{
    const struct pairs_config *config = all->config;
    uint64_t nodes = config->nodes;
    struct answers answers = {calloc(count_of(all), sizeof(uint64_t)),
                              calloc(count_of(all), sizeof(struct estimate)),
                              calloc(count_of(all), sizeof(struct estimate))};
    bool good = answers.true_bps != NULL && answers.found != NULL && answers.full != NULL;
    order_look(&all->order, all->now_ns);
    for (uint64_t i = 0; good && i < count_of(all); i++) {
        if (!is_pair(all, i))
            continue;
        answers.true_bps[i] = all->pairs[i].hop.link.rate_bps - all->pairs[i].hop.cross_bps;
        answers.found[i] = known_at(&all->known[i], all->now_ns);
        figures->open += order_state(&all->order, (uint16_t)(i / nodes), (uint16_t)(i % nodes)) == ORDER_OPEN;
    }
    good = good && measure_in_full(all, seed, answers.full, &figures->bytes_full);
    if (good) {
        figures->tau = kendall(all, &answers, answers.full);
        figures->tau_truth = kendall(all, &answers, NULL);
        figures->error_sd = deviation(all, &answers, answers.found);
        figures->error_full_sd = deviation(all, &answers, answers.full);
        figures->open /= (double)(nodes * (nodes - 1));
        struct worth_net net = {(uint16_t)nodes, (uint16_t)config->sites, config->run.goal.port_bps,
                                config->egress_bps, answers.true_bps};
        figures->rate = worth(&net, answers.found, solver);
        figures->rate_full = worth(&net, answers.full, solver);
    }
    free(answers.true_bps);
    free(answers.found);
    free(answers.full);
    return good;
}

bool pairs_measure(const struct pairs_config *config, uint64_t seed, struct arena *solver,
                   struct pairs_figures *figures)
{
    static struct all all;
    struct err err;
    CHECK(config->nodes <= ROTATION_NODES_MAX && config->sites <= config->nodes);
    bool good = begin(&all, config, seed);
    *figures = (struct pairs_figures){0};
    if (good) {
        uint64_t rate_bps = config->run.world.hops[0].link.rate_bps;
        struct order_goal goal = {.node_count = (uint16_t)config->nodes,
                                  .keep = (uint16_t)config->keep,
                                  .coarse_bps = muldiv64(rate_bps, config->coarse_ppb, NS_PER_S),
                                  .fine_bps = muldiv64(rate_bps, config->fine_ppb, NS_PER_S),
                                  .port_bps = rate_bps,
                                  .drift_bps = 1};
        struct rotation_goal rounds = rotation_goal_of(&all);
        order_init(&all.order, &goal, all.known);
        CHECK(rotation_init(&all.rotation, &rounds, BEGIN_NS, &err));
        rotate(&all);
        figures->took_s = (double)(all.now_ns - BEGIN_NS) / 1e9;
        figures->bytes = (double)all.bytes;
        good = judge(&all, seed, solver, figures);
    }
    end(&all);
    return good;
}
