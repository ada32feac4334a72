#include "node/train/pairs.h"

#include <stdio.h>
#include <string.h>

#include "ctl/estimate.h"
#include "node/peer/post.h"
#include "node/train/asked.h"
#include "node/train/line_in.h"

/* An interval as wide as such a part of what it is around tells that closely. */
#define CLOSE_PART 10u

size_t pairs_bytes(const struct node_config *config)
{
    size_t count = config->peer_count + 1u;
    return arena_need(sizeof(struct pairs)) + arena_need((count + 1) * count * sizeof(struct pair_result));
}

void pairs_init(struct node *node, struct arena *arena)
{
    struct pairs *pairs = arena_alloc(arena, sizeof(*pairs));
    node->pairs = pairs;
    pairs->count = (uint16_t)(node->peer_count + 1);
    pairs->results =
        arena_alloc(arena, (size_t)(pairs->count + 1u) * pairs->count * sizeof(struct pair_result));
}

static struct pair_result *result_of(const struct pairs *pairs, uint16_t from, uint16_t to)
{
    uint16_t row = from == PATH_SITE_ANY ? pairs->count : from;
    CHECK(row <= pairs->count && to < pairs->count);
    return &pairs->results[(uint32_t)row * pairs->count + to];
}

const struct pair_result *pairs_result(const struct node *node, uint16_t from, uint16_t to)
{
    return result_of(node->pairs, from, to);
}

const char *pairs_site_name(const struct node *node, uint16_t site)
{
    return site == PATH_SITE_SELF ? node->config.name : node->config.peers[site - 1].name;
}

/* ---- asking ---- */

static bool send(struct node *node, uint16_t site, const struct wire_probe_ask *ask, uint64_t now_ns)
{
    if (site != PATH_SITE_SELF)
        return post(node, (uint16_t)(site - 1), CONTROL_PROBE_ASK, ask);
    if (ask->what == PROBE_WHAT_LINE_IN)
        line_in_take(node, PEER_SELF, ask, now_ns);
    else
        asked_take(node, PEER_SELF, ask, now_ns);
    return true;
}

bool pairs_ask(struct node *node, uint16_t from, uint16_t to, struct wire_probe_ask *ask, uint64_t now_ns,
               struct err *err)
{
    struct pairs *pairs = node->pairs;
    struct pair_result *result = result_of(pairs, from, to);
    uint16_t site = path_measurer(from, to);
    const struct peer *peer = site == PATH_SITE_SELF ? NULL : &node->peers[site - 1];
    const char *name = pairs_site_name(node, site);
    if (result->asked)
        return err_set(err, "the path from %s to %s is being measured", name, pairs_site_name(node, to));
    if (peer != NULL && peer->state != PEER_UP)
        return err_set(err, "'%s' is down", name);
    if (pairs->open_count == PAIRS_OPEN_MAX)
        return err_set(err, "%u measurements are asked for already", PAIRS_OPEN_MAX);
    uint64_t lasts_ns = ask->lasts_ms != 0 ? ask->lasts_ms * NS_PER_MS : ASKED_LASTS_NS;
    uint64_t reply_ns = PAIRS_REPLY_NS + (peer != NULL ? 2 * peer->rtt_min_ns : 0);
    struct pair_open open = {.from = from,
                             .to = to,
                             .id = ++pairs->next_id,
                             .give_up_ns = now_ns + ask->wait_us * NS_PER_US + lasts_ns + reply_ns};
    ask->ask = open.id;
    ask->what = from == PATH_SITE_ANY ? PROBE_WHAT_LINE_IN : PROBE_WHAT_PATH;
    name_copy(ask->to.text, NAME_BYTES, pairs_site_name(node, to));
    if (!send(node, site, ask, now_ns))
        return err_set(err, "the queue of messages to %s is full", name);
    result->asked = true;
    pairs->open[pairs->open_count++] = open;
    core_schedule(node, open.give_up_ns);
    return true;
}

static bool site_of(const struct node *node, const char *name, uint16_t *site, struct err *err)
{
    uint16_t peer = peer_find(node, name);
    if (peer == PEER_NONE)
        return err_set(err, "there is no peer '%s'", name);
    *site = peer == PEER_SELF ? PATH_SITE_SELF : (uint16_t)(peer + 1);
    return true;
}

bool pairs_ask_by_name(struct node *node, const char *from_name, const char *to_name, uint64_t now_ns,
                       struct err *err)
{
    uint16_t from = 0, to = 0;
    struct wire_probe_ask ask = {0};
    if (!site_of(node, from_name, &from, err) || !site_of(node, to_name, &to, err))
        return false;
    return pairs_ask(node, from, to, &ask, now_ns, err);
}

/* ---- answers ---- */

static void drop(struct pairs *pairs, uint16_t place)
{
    pairs->open[place] = pairs->open[--pairs->open_count];
}

static struct pair_result *end_of(struct node *node, uint16_t place, uint64_t now_ns, struct pair_end *end)
{
    struct pairs *pairs = node->pairs;
    const struct pair_open *open = &pairs->open[place];
    struct pair_result *result = result_of(pairs, open->from, open->to);
    *end = (struct pair_end){open->from, open->to, result};
    result->asked = false;
    result->known_ns = now_ns;
    drop(pairs, place);
    return result;
}

static struct estimate estimate_of(const struct wire_probe_answer *fixed, uint64_t now_ns)
{
    uint64_t until_ns = elapsed_ns(now_ns, fixed->age_ns);
    return (struct estimate){.kind = fixed->kind,
                             .reason = fixed->reason,
                             .stamp_kind = fixed->stamp_kind,
                             .flags = fixed->flags,
                             .avail_bps = fixed->avail_bps,
                             .low_bps = fixed->low_bps,
                             .high_bps = fixed->high_bps,
                             .capacity_bps = fixed->capacity_bps,
                             .depth_bytes = fixed->depth_bytes,
                             .loss_ppm = fixed->loss_ppm,
                             .from_ns = elapsed_ns(until_ns, fixed->window_ns),
                             .until_ns = until_ns,
                             .busy_ns = fixed->busy_ns,
                             .bytes = fixed->bytes,
                             .trains = fixed->trains,
                             .discarded = fixed->discarded};
}

/* What this node has measured is in the table already. */
static void tell_table(struct node *node, const struct pair_end *end, uint64_t now_ns)
{
    struct estimate now = known_at(&end->result->known, now_ns);
    if (path_measurer(end->from, end->to) != PATH_SITE_SELF && now.avail_bps >= 1000)
        path_table_set_estimate(node->paths, end->from, end->to, &now, now_ns);
}

/* What another node says is judged as what its planner would be told; of a line the other end has no name. */
static bool is_estimate(const struct node *node, const struct pair_open *open,
                        const struct estimate *estimate)
{
    struct err err;
    struct ctl_estimate record = {.estimate = *estimate};
    bool line = open->to == path_measurer(open->from, open->to);
    name_copy(record.from, NAME_BYTES, pairs_site_name(node, path_measurer(open->from, open->to)));
    const char *other = strcmp(record.from, "line") == 0 ? "its" : "line";
    name_copy(record.to, NAME_BYTES, line ? other : pairs_site_name(node, open->to));
    return ctl_estimate_valid(&record, &err);
}

/* A refused value is a hint: its lower end, unless the interval is narrow. "At least" less than that does not end it. */
static void note_maybe(struct pair_result *result, uint64_t now_ns)
{
    const struct estimate *estimate = &result->estimate;
    bool maybe =
        estimate->kind == ESTIMATE_REFUSED && estimate->reason == ESTIMATE_NO_END && estimate->low_bps > 0;
    if (maybe) {
        bool close = estimate->high_bps - estimate->low_bps <= estimate->avail_bps / CLOSE_PART;
        result->maybe_bps = close ? estimate->avail_bps : estimate->low_bps;
        result->maybe_ns = now_ns;
    } else if (estimate->kind == ESTIMATE_VALUE ||
               (estimate->kind == ESTIMATE_AT_LEAST && estimate->low_bps >= result->maybe_bps)) {
        result->maybe_bps = 0;
    }
}

bool pairs_on_answer(struct node *node, uint16_t peer, const struct control_probe_answer *answer,
                     uint64_t now_ns, struct pair_end *end)
{
    struct pairs *pairs = node->pairs;
    uint16_t from = peer == PEER_SELF ? PATH_SITE_SELF : (uint16_t)(peer + 1), place = 0;
    struct estimate estimate = estimate_of(&answer->fixed, now_ns);
    while (place < pairs->open_count &&
           (pairs->open[place].id != answer->fixed.ask ||
            path_measurer(pairs->open[place].from, pairs->open[place].to) != from))
        place++;
    if (place == pairs->open_count || !is_estimate(node, &pairs->open[place], &estimate))
        return false;
    struct pair_result *result = end_of(node, place, now_ns, end);
    result->answer = answer->fixed.answer;
    snprintf(result->why, sizeof(result->why), "%.*s", (int)sizeof(result->why) - 1, answer->text);
    if (answer->fixed.answer != PROBE_MEASURED)
        return true;
    result->rtt_ns = answer->fixed.rtt_ns;
    result->estimate = estimate;
    note_maybe(result, now_ns);
    if (known_take(&result->known, &estimate, now_ns))
        tell_table(node, end, now_ns);
    bool line = end->to == path_measurer(end->from, end->to);
    bool news = from != PATH_SITE_SELF && !line && estimate.kind != ESTIMATE_NONE;
    pairs->news_count += !result->news && news;
    result->news |= news;
    digest_add(&node->digest, estimate.avail_bps ^ (uint64_t)end->from << 48 ^ (uint64_t)end->to << 56);
    return true;
}

bool pairs_give_up(struct node *node, uint64_t now_ns, struct pair_end *end)
{
    struct pairs *pairs = node->pairs;
    for (uint16_t place = 0; place < pairs->open_count; place++) {
        if (now_ns < pairs->open[place].give_up_ns)
            continue;
        struct pair_result *result = end_of(node, place, now_ns, end);
        uint16_t site = path_measurer(end->from, end->to);
        bool down = site != PATH_SITE_SELF && node->peers[site - 1].state != PEER_UP;
        result->answer = down ? PROBE_LOST : PROBE_NO_REPLY;
        snprintf(result->why, sizeof(result->why), "%s %s", pairs_site_name(node, site),
                 down ? "is down" : "has not answered");
        return true;
    }
    return false;
}

bool pairs_waits_for(const struct node *node, uint16_t peer)
{
    bool waits = false;
    for (uint16_t place = 0; place < node->pairs->open_count; place++)
        waits |= path_measurer(node->pairs->open[place].from, node->pairs->open[place].to) == peer + 1u;
    return waits;
}

uint64_t pairs_next_ns(const struct node *node)
{
    uint64_t next_ns = TIME_NEVER;
    for (uint16_t place = 0; place < node->pairs->open_count; place++)
        next_ns = MIN(next_ns, node->pairs->open[place].give_up_ns);
    return next_ns;
}

void pairs_forget(struct node *node, uint16_t peer, uint64_t now_ns)
{
    struct pairs *pairs = node->pairs;
    for (uint16_t place = 0; place < pairs->open_count; place++)
        if (path_measurer(pairs->open[place].from, pairs->open[place].to) == peer + 1)
            pairs->open[place].give_up_ns = now_ns;
    core_schedule(node, now_ns);
}

const struct pair_result *pairs_take_news(struct node *node, uint16_t *from, uint16_t *to)
{
    struct pairs *pairs = node->pairs;
    uint32_t count = (uint32_t)pairs->count * pairs->count;
    for (uint32_t index = 0; index < count && pairs->news_count > 0; index++) {
        if (!pairs->results[index].news)
            continue;
        pairs->results[index].news = false;
        pairs->news_count--;
        *from = (uint16_t)(index / pairs->count);
        *to = (uint16_t)(index % pairs->count);
        return &pairs->results[index];
    }
    return NULL;
}
