#include <inttypes.h>
#include <stdio.h>

#include "node/flow/edges.h"
#include "node/kind/stream_parts.h"

#define WINDOW_TEXT_BYTES 64
/* Whoever is fed acks: one that was not heard for so long is not slow. */
#define SILENT_NS NS_PER_S

static uint64_t payload_bytes(const struct job *job, uint64_t symbols)
{
    return symbols * stream_payload_bytes(job->geometry.symbol_bytes);
}

static uint64_t window_symbols(const struct job *job)
{
    return job->geometry.symbols;
}

/* Blocks age while the job may send: what a pause takes is nobody's fault. */
static uint64_t aging_ns(const struct node *node, struct job *job)
{
    struct job_stream *stream = job->stream;
    uint64_t lived_ns = core_lived_ns(node);
    if (job->controls.paused)
        stream->paused_ns += lived_ns - stream->judged_ns;
    stream->judged_ns = lived_ns;
    return lived_ns - stream->paused_ns;
}

/* The stream's oldest block has been here for longer than the job's window in time. */
static bool too_old(struct job *job, uint64_t aged_ns)
{
    struct job_stream *stream = job->stream;
    uint64_t window_ns = job->part.fixed.stream_window_ms * NS_PER_MS;
    if (window_ns == 0)
        return false;
    const struct stream_mark *newest = &stream->marks[(stream->mark_next + STREAM_MARKS - 1) % STREAM_MARKS];
    if (aged_ns >= later_ns(newest->at_ns, window_ns / (STREAM_MARKS - 2))) {
        uint64_t block = stream_arrived(&stream->window);
        stream->marks[stream->mark_next++ % STREAM_MARKS] = (struct stream_mark){aged_ns, block};
    }
    for (uint32_t mark = 0; mark < STREAM_MARKS; mark++)
        if (stream->marks[mark].at_ns != 0 && aged_ns >= later_ns(stream->marks[mark].at_ns, window_ns) &&
            stream->window.first < stream->marks[mark].block)
            return true;
    return false;
}

static void say_slow(const struct job *job, uint64_t behind_symbols, char text[CONTROL_TEXT_BYTES])
{
    const struct wire_part *part = &job->part.fixed;
    char window[WINDOW_TEXT_BYTES];
    int length =
        snprintf(window, sizeof(window), "%" PRIu64 " MB", payload_bytes(job, window_symbols(job)) / 1000000);
    if (part->stream_window_ms != 0)
        snprintf(window + length, sizeof(window) - (size_t)length, " and %u.%03u s",
                 part->stream_window_ms / 1000, part->stream_window_ms % 1000);
    snprintf(text, CONTROL_TEXT_BYTES, "too slow for the retention window of %s, %" PRIu64 " bytes behind",
             window, payload_bytes(job, behind_symbols));
}

static void drop(struct node *node, struct job *job, uint8_t index, uint64_t behind_symbols)
{
    char text[CONTROL_TEXT_BYTES];
    uint64_t silent_ns = elapsed_ns(core_lived_ns(node), node->peers[job->children.of[index].peer].heard_ns);
    if (silent_ns < SILENT_NS)
        say_slow(job, behind_symbols, text);
    else
        snprintf(text, sizeof(text), "does not answer its parent %s for %u s, %" PRIu64 " bytes behind",
                 node->config.name, (unsigned)(silent_ns / NS_PER_S), payload_bytes(job, behind_symbols));
    node->counters.live_dropped++;
    edges_note_gone(node, job, index, "%s", text);
    edges_drop(node, job, job->children.of[index].peer);
}

static bool sink_lacks_first(const struct job *job)
{
    return job->stream->window.next < (job->stream->window.first + 1) * job->geometry.block_symbols;
}

/* What the child can be behind at most: symbols of its stripes in the window. */
static uint64_t share(const struct job *job, uint8_t child)
{
    return stream_share(&job->stream->window, job->children.of[child].stripes);
}

/* No more of what the child is fed fits into the window, whose oldest block it lacks. */
static bool holds_up(const struct job *job, uint8_t child, bool old)
{
    const struct stream *window = &job->stream->window;
    return !job->children.of[child].gone && stream_lacks_first(window, child) &&
           (old || stream_full(window, job->children.of[child].stripes));
}

static bool anyone_holds_up(const struct job *job, bool old)
{
    bool any = old || stream_full(&job->stream->window, trees_all(job));
    for (uint16_t child = 0; child < job->children.count && !any; child++)
        any = holds_up(job, (uint8_t)child, old);
    return any;
}

/* Someone here has nearly all: it will stand still for the slow ones. */
static bool someone_keeps_up(const struct job *job)
{
    const struct stream *window = &job->stream->window;
    for (uint16_t child = 0; child < job->children.count; child++)
        if (!job->children.of[child].gone && stream_behind(window, child) <= share(job, (uint8_t)child) / 4)
            return true;
    return stream_drains(job) && stream_undelivered(window) <= window_symbols(job) / 4;
}

void stream_judge_slow(struct node *node, struct job *job, uint64_t now_ns)
{
    uint64_t aged_ns = aging_ns(node, job);
    if (job->controls.paused)
        return;
    bool old = too_old(job, aged_ns);
    if (job->part.fixed.stream_slow == PART_SLOW_WAIT || !anyone_holds_up(job, old) ||
        (!old && !someone_keeps_up(job)))
        return;
    for (uint16_t child = 0; child < job->children.count; child++) {
        uint64_t behind = holds_up(job, (uint8_t)child, old) ? stream_behind(&job->stream->window, child) : 0;
        if (behind > (old ? 0 : share(job, (uint8_t)child) / 2))
            drop(node, job, (uint8_t)child, behind);
    }
    uint64_t undelivered = stream_undelivered(&job->stream->window), much = old ? 0 : window_symbols(job) / 2;
    bool edge = old || stream_full(&job->stream->window, trees_all(job));
    if (edge && stream_drains(job) && undelivered > much && sink_lacks_first(job)) {
        char text[CONTROL_TEXT_BYTES];
        say_slow(job, undelivered, text);
        node->counters.live_dropped++;
        job_fail(node, job, now_ns, "%s", text);
    }
}
