#include "node/train/asked.h"

#include <stdio.h>
#include <string.h>

#include "node/peer/post.h"
#include "node/train/in.h"
#include "node/train/line.h"

/* ---- budget: as that of trains that come in ---- */

static void refill(struct node *node, uint64_t now_ns)
{
    train_budget_refill(&node->asked->budget, train_in_budget(&node->config), now_ns);
}

void asked_init(struct node *node, uint64_t now_ns)
{
    train_budget_init(&node->asked->budget, train_in_budget(&node->config), now_ns);
}

/* ---- answers ---- */

static void answer(struct node *node, uint16_t asker, const struct wire_probe_answer *fixed, const char *why)
{
    struct asked *asked = node->asked;
    struct control_probe_answer message = {.fixed = *fixed};
    if (asker == PEER_NONE)
        return;
    snprintf(message.text, sizeof(message.text), "%s", why);
    if (asker != PEER_SELF) {
        post(node, asker, CONTROL_PROBE_ANSWER, &message); /* without room it is what a lost answer is */
    } else if (asked->own_count < ASKED_MAX) {
        asked->own[asked->own_count++] = message;
        core_schedule(node, node->now_ns);
    }
}

void asked_decline(struct node *node, uint16_t asker, uint32_t id, enum probe_answer word, const char *why)
{
    struct wire_probe_answer fixed = {.ask = id, .answer = (uint8_t)word};
    node->counters.asks_declined++;
    answer(node, asker, &fixed, why);
}

static void decline(struct node *node, const struct asked_path *path, enum probe_answer word, const char *why)
{
    asked_decline(node, path->asker, path->id, word, why);
}

uint64_t asked_left(struct node *node, uint64_t now_ns)
{
    refill(node, now_ns);
    return node->asked->budget.bytes;
}

bool asked_spend(struct node *node, uint64_t bytes, uint64_t now_ns)
{
    struct train_budget *budget = &node->asked->budget;
    refill(node, now_ns);
    if (budget->bytes < bytes)
        return false;
    budget->bytes -= bytes;
    return true;
}

/* Why the path can't be measured for others; PROBE_MEASURED: it can. */
static enum probe_answer hindrance(const struct node *node, const char *name, uint16_t to, struct err *err)
{
    if (node->config.probe.off || node->config.probe.estimator == NULL) {
        err_set(err, "%s measures no paths", node->config.name);
        return PROBE_OFF;
    }
    if (to == PEER_SELF)
        return line_hindrance(node, err) ? PROBE_UNKNOWN : PROBE_MEASURED;
    if (to == PEER_NONE) {
        err_set(err, "%s has no peer '%s'", node->config.name, name);
        return PROBE_UNKNOWN;
    }
    if (node->peers[to].config->probe_off) {
        err_set(err, "the entry of '%s' at %s says probe: off", name, node->config.name);
        return PROBE_OFF;
    }
    if (node->peers[to].state != PEER_UP || node->peers[to].rtt_min_ns == 0) {
        err_set(err, "'%s' is down, as %s sees it", name, node->config.name);
        return PROBE_DOWN;
    }
    return PROBE_MEASURED;
}

static uint16_t count_of(const struct asked *asked, uint16_t asker)
{
    uint16_t count = 0;
    for (uint16_t place = 0; place < asked->count; place++)
        count += asked->paths[place].asker == asker;
    return count;
}

void asked_take(struct node *node, uint16_t asker, const struct wire_probe_ask *ask, uint64_t now_ns)
{
    struct asked *asked = node->asked;
    uint64_t lasts_ns = ask->lasts_ms != 0 ? ask->lasts_ms * NS_PER_MS : ASKED_LASTS_NS;
    struct err err;
    struct asked_path path = {.asker = asker,
                              .to = peer_find(node, ask->to.text),
                              .trains = ask->trains,
                              .quick = ask->lasts_ms != 0,
                              .id = ask->ask,
                              .bytes = ask->bytes != 0 ? ask->bytes : UINT64_MAX,
                              .begin_ns = now_ns + MIN(ask->wait_us * NS_PER_US, ASKED_WAIT_NS_MAX)};
    path.end_ns = path.begin_ns + MIN(lasts_ns, ASKED_LASTS_NS);
    enum probe_answer word = hindrance(node, ask->to.text, path.to, &err);
    if (word != PROBE_MEASURED) {
        decline(node, &path, word, err.text);
        return;
    }
    if (asked->count == ASKED_MAX || count_of(asked, asker) >= ASKED_OF_ONE_MAX) {
        decline(node, &path, PROBE_BUSY, "too many wait already");
        return;
    }
    asked->paths[asked->count++] = path;
    core_schedule(node, path.begin_ns);
}

/* ---- what is due ---- */

/* By the order of their times; where those are equal, of coming. */
static uint16_t first_of(const struct asked *asked)
{
    uint16_t first = 0;
    for (uint16_t place = 1; place < asked->count; place++)
        if (asked->paths[place].begin_ns < asked->paths[first].begin_ns)
            first = place;
    return first;
}

static void drop(struct asked *asked, uint16_t place)
{
    asked->count--;
    memmove(&asked->paths[place], &asked->paths[place + 1],
            (size_t)(asked->count - place) * sizeof(asked->paths[0]));
}

/* Called by a tick, behind that of the jobs: only then it is known whether there are any. False: it is answered. */
static bool admit(struct node *node, struct asked_path *path, uint64_t now_ns)
{
    struct err err;
    struct asked *asked = node->asked;
    enum probe_answer word = hindrance(node, peer_name(node, path->to), path->to, &err);
    refill(node, now_ns);
    if (word == PROBE_MEASURED && core_has_jobs(node)) {
        word = PROBE_JOBS;
        err_set(&err, "%s has jobs, which trains would be in the way of", node->config.name);
    } else if (word == PROBE_MEASURED && now_ns >= path->end_ns) {
        word = PROBE_BUSY;
        err_set(&err, "%s has measured something else all the time", node->config.name);
    } else if (word == PROBE_MEASURED && asked->budget.bytes < MIN(path->bytes, ASKED_BYTES_LEAST)) {
        word = PROBE_OVER_BUDGET;
        err_set(&err, "%s has sent for others what it may", node->config.name);
    }
    if (word != PROBE_MEASURED) {
        decline(node, path, word, err.text);
        return false;
    }
    path->bytes = MIN(path->bytes, asked->budget.bytes);
    asked->budget.bytes -= path->bytes;
    return true;
}

bool asked_due(struct node *node, uint64_t now_ns, struct asked_path *path)
{
    struct asked *asked = node->asked;
    while (asked->count > 0) {
        uint16_t first = first_of(asked);
        if (asked->paths[first].begin_ns > now_ns)
            return false;
        *path = asked->paths[first];
        drop(asked, first);
        if (admit(node, path, now_ns))
            return true;
    }
    return false;
}

uint64_t asked_next_ns(const struct node *node)
{
    const struct asked *asked = node->asked;
    return asked->count == 0 ? TIME_NEVER : asked->paths[first_of(asked)].begin_ns;
}

uint64_t asked_last_ns(const struct node *node)
{
    uint64_t last_ns = 0;
    for (uint16_t place = 0; place < node->asked->count; place++)
        last_ns = MAX(last_ns, node->asked->paths[place].end_ns);
    return last_ns;
}

static void tell_estimate(struct wire_probe_answer *fixed, const struct estimate *estimate, uint64_t now_ns)
{
    fixed->kind = estimate->kind;
    fixed->reason = estimate->reason;
    fixed->stamp_kind = estimate->stamp_kind;
    fixed->flags = estimate->flags;
    fixed->avail_bps = estimate->avail_bps;
    fixed->low_bps = estimate->low_bps;
    fixed->high_bps = estimate->high_bps;
    fixed->capacity_bps = estimate->capacity_bps;
    fixed->depth_bytes = estimate->depth_bytes;
    fixed->loss_ppm = estimate->loss_ppm;
    /* One that was refused has no window. */
    fixed->age_ns = estimate->until_ns != 0 ? elapsed_ns(now_ns, estimate->until_ns) : 0;
    fixed->window_ns = elapsed_ns(estimate->until_ns, estimate->from_ns);
    fixed->busy_ns = estimate->busy_ns;
    fixed->bytes = estimate->bytes;
    fixed->trains = estimate->trains;
    fixed->discarded = estimate->discarded;
}

void asked_end(struct node *node, const struct asked_path *path, const struct asked_end *end, uint64_t now_ns)
{
    bool says = estimate_says(&end->estimate);
    bool declined = end->answer != PROBE_MEASURED || (!says && end->turned_down == TRAIN_OFF);
    struct wire_probe_answer fixed = {.ask = path->id, .answer = (uint8_t)end->answer};
    char why[CONTROL_TEXT_BYTES] = "";
    node->asked->budget.bytes += excess_of(path->bytes, end->spent_bytes);
    node->counters.asks_served += !declined;
    node->counters.asks_declined += declined;
    if (end->answer != PROBE_MEASURED) {
        if (path->to == PEER_SELF)
            snprintf(why, sizeof(why), "all but one of its peers are down, as %s sees it", node->config.name);
        else
            snprintf(why, sizeof(why), "'%s' is down, as %s sees it", peer_name(node, path->to),
                     node->config.name);
        answer(node, path->asker, &fixed, why);
        return;
    }
    tell_estimate(&fixed, &end->estimate, now_ns);
    if (path->to != PEER_SELF)
        fixed.rtt_ns = node->peers[path->to].rtt_min_ns;
    fixed.bytes = MAX(fixed.bytes, end->spent_bytes);
    if (declined)
        fixed.answer = PROBE_OFF;
    if (!says && end->turned_down != TRAIN_TAKEN)
        snprintf(why, sizeof(why), "%s took no train: %s", peer_name(node, path->to),
                 word_of(train_answer_words, end->turned_down));
    answer(node, path->asker, &fixed, why);
}

bool asked_take_own(struct node *node, struct control_probe_answer *message)
{
    struct asked *asked = node->asked;
    if (asked->own_count == 0)
        return false;
    *message = asked->own[0];
    asked->own_count--;
    memmove(&asked->own[0], &asked->own[1], asked->own_count * sizeof(asked->own[0]));
    return true;
}

void asked_forget(struct node *node, uint16_t peer)
{
    struct asked *asked = node->asked;
    for (uint16_t place = asked->count; place-- > 0;)
        if (asked->paths[place].asker == peer)
            drop(asked, place);
}
