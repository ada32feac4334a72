/* What is known of paths' available bandwidth: this node's own paths, those that it has asked others for, and how far a round of
 * all pairs has come. Rates on the wire. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/top.h"
#include "node/train/all.h"
#include "node/train/prober.h"

#define CELL_BYTES      24
#define MATRIX_MOST     12   /* more columns do not fit a line */
#define ROW_BYTES       700u /* of a pair, at most: as text it is aligned in place */
#define ROOM_FOR_OTHERS 65536u

static void report_flags(struct report *report, uint32_t flags)
{
    char text[ESTIMATE_FLAGS_BYTES];
    estimate_flags_text(flags, text);
    report_text(report, "flags", text);
}

static const char *stamps_word(uint8_t kind)
{
    static const char *const words[] = {"software", "hardware", "virtual"};
    return kind < sizeof(words) / sizeof(words[0]) ? words[kind] : "unknown";
}

static void report_probe(const struct node *node, struct report *report, uint16_t peer, uint64_t now_ns)
{
    const struct probe_result *result = prober_result(node, peer);
    const struct estimate *estimate = &result->estimate;
    report_text(report, "to", peer_name(node, peer));
    report_text(report, "kind", estimate_kind_word(estimate->kind));
    report_u64(report, "avail_bps", estimate->avail_bps);
    report_u64(report, "low_bps", estimate->low_bps);
    report_u64(report, "high_bps", estimate->high_bps);
    report_u64(report, "capacity_bps", estimate->capacity_bps);
    report_fixed(report, "age_s",
                 result->known_ns == 0 ? 0 : elapsed_ns(now_ns, result->known_ns) / NS_PER_MS, 3);
    report_fixed(report, "window_ms", elapsed_ns(estimate->until_ns, estimate->from_ns) / NS_PER_US, 3);
    report_fixed(report, "busy_ms", estimate->busy_ns / NS_PER_US, 3);
    report_text(report, "stamps", result->known_ns == 0 ? "" : stamps_word(estimate->stamp_kind));
    report_flags(report, estimate->flags);
    report_text(report, "reason", estimate_reason_word(estimate->reason));
    report_u64(report, "trains", estimate->trains);
    report_u64(report, "discarded", estimate->discarded);
    report_u64(report, "bytes", estimate->bytes);
    if (report->form == REPORT_JSON) {
        report_u64(report, "depth_bytes", estimate->depth_bytes);
        report_u64(report, "loss_ppm", estimate->loss_ppm);
        report_u64(report, "measurements", result->count);
    }
    report_bool(report, "measuring", prober_is_busy(node, peer));
}

static void report_end_of_path(struct report *report, const char *to, const char *end,
                               const struct train_floor *floor)
{
    report_row(report);
    report_text(report, "to", to);
    report_text(report, "end", end);
    report_text(report, "stamps", stamps_word(floor->stamp_kind));
    report_u64(report, "noise_ns", floor->noise_ns);
    report_u64(report, "granularity_ns", floor->granularity_ns);
    report_u64(report, "batch", floor->batch);
    report_fixed(report, "gap_us", floor->gap_ns, 3);
    report_row_end(report);
}

/* What the ends of a path add to its stamps, as its last train has shown. */
static void report_ends(const struct node *node, struct report *report)
{
    report_table(report, "ends");
    for (uint16_t peer = 0; peer < node->peer_count; peer++) {
        const struct probe_result *result = prober_result(node, peer);
        if (!result->heard)
            continue;
        report_end_of_path(report, peer_name(node, peer), "sender", &result->sender);
        report_end_of_path(report, peer_name(node, peer), "receiver", &result->receiver);
    }
    report_table_end(report);
}

/* ---- pairs that others measure ---- */

static bool is_told(const struct pair_result *result)
{
    return result->asked || result->known_ns != 0;
}

/* Sites, and behind them who sends by lines in. */
static uint16_t sender_at(const struct node *node, uint16_t place)
{
    return place <= node->peer_count ? place : PATH_SITE_ANY;
}

static uint32_t row_told(const struct node *node, uint16_t from)
{
    uint32_t told = 0;
    for (uint16_t to = 0; to <= node->peer_count; to++)
        told += is_told(pairs_result(node, from, to));
    return told;
}

static uint32_t pairs_told(const struct node *node)
{
    uint32_t told = 0;
    for (uint16_t place = 0; place <= node->peer_count + 1; place++)
        told += row_told(node, sender_at(node, place));
    return told;
}

static const char *sender_name(const struct node *node, uint16_t from)
{
    return from == PATH_SITE_ANY ? CTL_LINE : pairs_site_name(node, from);
}

/* All that is known by now, in the interval that its age leaves; else why nothing is. */
static struct estimate estimate_now(const struct pair_result *result, uint64_t now_ns)
{
    struct estimate now = known_at(&result->known, now_ns);
    return now.kind == ESTIMATE_NONE ? result->estimate : now;
}

/* Why an answer tells no rate. */
static const char *reason_of(const struct estimate *estimate)
{
    return estimate->kind == ESTIMATE_NONE ? ESTIMATE_NOT_IN_TIME : estimate_reason_word(estimate->reason);
}

static const char *why_of(const struct pair_result *result)
{
    if (result->why[0] != '\0' || result->known_ns == 0)
        return result->why;
    if (result->answer != PROBE_MEASURED)
        return word_of(probe_answer_words, result->answer);
    return estimate_says(&result->estimate) ? "" : reason_of(&result->estimate);
}

static void report_pair(const struct node *node, struct report *report, uint16_t from, uint16_t to,
                        uint64_t now_ns)
{
    const struct pair_result *result = pairs_result(node, from, to);
    struct estimate now = estimate_now(result, now_ns);
    report_row(report);
    report_text(report, "from", sender_name(node, from));
    report_text(report, "to", from == to ? CTL_LINE : pairs_site_name(node, to));
    report_text(report, "kind", estimate_kind_word(now.kind));
    report_u64(report, "avail_bps", now.avail_bps);
    report_u64(report, "low_bps", now.low_bps);
    report_u64(report, "high_bps", now.high_bps);
    report_u64(report, "capacity_bps", now.capacity_bps);
    uint64_t since_ns = now.until_ns != 0 ? now.until_ns : result->known_ns;
    report_fixed(report, "age_s", since_ns == 0 ? 0 : elapsed_ns(now_ns, since_ns) / NS_PER_MS, 3);
    if (report->form == REPORT_JSON) {
        report_text(report, "stamps", result->known_ns == 0 ? "" : stamps_word(now.stamp_kind));
        report_flags(report, now.flags);
        report_text(report, "reason", estimate_reason_word(result->estimate.reason));
        report_u64(report, "trains", result->estimate.trains);
        report_u64(report, "bytes", result->estimate.bytes);
        report_text(report, "newest",
                    result->answer == PROBE_MEASURED ? estimate_kind_word(result->estimate.kind)
                                                     : estimate_kind_word(ESTIMATE_REFUSED));
        report_text(report, "answer", word_of(probe_answer_words, result->answer));
    }
    report_bool(report, "measuring", result->asked);
    report_text(report, "why", why_of(result));
    report_row_end(report);
}

/* Gbit/s; of what there is none a dash, of what was refused the word. */
static void cell_of(const struct pair_result *result, uint64_t now_ns, char cell[CELL_BYTES])
{
    struct estimate now = estimate_now(result, now_ns);
    uint64_t mbps = now.avail_bps / 1000000;
    if (estimate_says(&now))
        snprintf(cell, CELL_BYTES, "%s%" PRIu64 ".%03u", now.kind == ESTIMATE_AT_LEAST ? ">=" : "",
                 mbps / 1000, (unsigned)(mbps % 1000));
    else if (result->known_ns == 0)
        snprintf(cell, CELL_BYTES, "-");
    else
        snprintf(cell, CELL_BYTES, "%s",
                 result->answer == PROBE_MEASURED ? reason_of(&result->estimate)
                                                  : word_of(probe_answer_words, result->answer));
}

/* For people: from the left to the top, Gbit/s; of a site to itself its line out, and of its line in below. */
static void report_matrix(const struct node *node, struct report *report, uint64_t now_ns)
{
    bool lines_in = row_told(node, PATH_SITE_ANY) > 0;
    report_table(report, "gbps");
    for (uint16_t place = 0; place <= node->peer_count + lines_in; place++) {
        uint16_t from = sender_at(node, place);
        report_row(report);
        report_text(report, "from", sender_name(node, from));
        for (uint16_t to = 0; to <= node->peer_count; to++) {
            char cell[CELL_BYTES] = "";
            if ((from != to && from != PATH_SITE_ANY) || is_told(pairs_result(node, from, to)))
                cell_of(pairs_result(node, from, to), now_ns, cell);
            report_text(report, pairs_site_name(node, to), cell);
        }
        report_row_end(report);
    }
    report_table_end(report);
}

static void report_pairs(const struct node *node, struct report *report, uint64_t now_ns)
{
    uint32_t told = pairs_told(node);
    uint32_t room = (uint32_t)(excess_of(report->room, ROOM_FOR_OTHERS) / ROW_BYTES), fitting = room;
    if (told > 0 && node->peer_count < MATRIX_MOST && report->form == REPORT_TEXT)
        report_matrix(node, report, now_ns);
    report_table(report, "pairs");
    for (uint16_t place = 0; place <= node->peer_count + 1; place++)
        for (uint16_t to = 0, from = sender_at(node, place); to <= node->peer_count; to++)
            if (is_told(pairs_result(node, from, to)) && fitting > 0) {
                report_pair(node, report, from, to, now_ns);
                fitting--;
            }
    report_table_end(report);
    if (told > room)
        report_bool(report, "pairs_left_out", true);
}

/* Some path was refused for it. */
static bool is_reason(const struct node *node, enum estimate_reason reason)
{
    bool found = false;
    for (uint16_t peer = 0; peer < node->peer_count; peer++) {
        const struct estimate *own = &prober_result(node, peer)->estimate;
        found |= own->kind == ESTIMATE_REFUSED && own->reason == reason;
    }
    for (uint16_t place = 0; place <= node->peer_count + 1; place++)
        for (uint16_t to = 0, from = sender_at(node, place); to <= node->peer_count; to++)
            found |= pairs_result(node, from, to)->estimate.kind == ESTIMATE_REFUSED &&
                     pairs_result(node, from, to)->estimate.reason == reason;
    return found;
}

/* For people: what the words of refusals mean, and what helps. */
static void report_helps(const struct node *node, struct report *report)
{
    const char *word;
    if (report->form != REPORT_TEXT)
        return;
    report_object(report, "refused");
    for (unsigned reason = 0; (word = estimate_reason_word(reason)) != NULL; reason++)
        if (is_reason(node, (enum estimate_reason)reason))
            report_text(report, word, estimate_reason_help(word));
    report_object_end(report);
}

static void report_silent(const struct node *node, struct report *report, uint64_t silent)
{
    char text[512] = "";
    size_t length = 0;
    for (uint64_t left = silent; left != 0 && length < sizeof(text); left &= left - 1)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s", length > 0 ? " " : "",
                                   pairs_site_name(node, node->all->site_of[__builtin_ctzll(left)]));
    report_text(report, "silent", text);
}

/* What the round of all pairs costs at most, and, once it runs, how far it has come. */
static void report_all(const struct node *node, struct report *report, uint64_t now_ns)
{
    const struct all *all = node->all;
    report_object(report, "all");
    report_text(report, "state", all_state_word(all->state));
    if (all->state >= ALL_READY) {
        report_bool(report, "order", all->order);
        report_u64(report, "nodes", all->goal.rotation.node_count);
        report_u64(report, "cost_pairs", all->cost.pairs);
        report_u64(report, "cost_trains", all->cost.trains);
        report_traffic(report, "cost_bytes", all->cost.bytes);
        report_traffic(report, "cost_node_bytes", all->cost.node_bytes);
        report_fixed(report, "cost_s", all->cost.duration_ns / NS_PER_MS, 3);
    }
    if (all->state >= ALL_RUNNING) {
        struct survey_progress progress = survey_progress(&all->survey, now_ns);
        report_u64(report, "known", progress.known);
        report_u64(report, "refused", progress.refused);
        report_u64(report, "asked", progress.rotation.sent);
        report_u64(report, "answered", progress.rotation.answered);
        report_u64(report, "missed", progress.rotation.missed);
        report_u64(report, "trains", progress.trains);
        report_traffic(report, "sent_bytes", progress.bytes);
        report_fixed(report, "took_s", progress.took_ns / NS_PER_MS, 3);
        report_fixed(report, "left_s", progress.rotation.left_ns / NS_PER_MS, 3);
        report_bool(report, "stopped", all->stopped);
        report_silent(node, report, progress.rotation.silent);
    }
    report_object_end(report);
}

/* What trains of this node take now stands above the table. */
void show_probes(const struct node *node, struct report *report, uint64_t now_ns)
{
    const struct node_probe_config *config = &node->config.probe;
    report_text(report, "node", node->config.name);
    report_text(report, "estimator",
                config->estimator == NULL || config->off ? "none" : config->estimator->name);
    report_bool(report, "background", config->background);
    report_text(report, "layer", "wire");
    report_u64(report, "load_bps", prober_load_bps(node, now_ns));
    report_table(report, "probes");
    for (uint16_t peer = 0; peer < node->peer_count; peer++) {
        report_row(report);
        report_probe(node, report, peer, now_ns);
        report_row_end(report);
    }
    report_table_end(report);
    report_all(node, report, now_ns);
    report_pairs(node, report, now_ns);
    report_ends(node, report);
    report_helps(node, report);
}
