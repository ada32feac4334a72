/* What an estimator says of a path: available bandwidth with the interval that it lies in, or why it cannot say.
 *
 * All rates are on the wire (base/units.h). Available bandwidth is the tight hop's capacity less its cross traffic over
 * the window; the interval holds it at 95 % where kind is ESTIMATE_VALUE. ESTIMATE_AT_LEAST: nothing queued at the rate
 * avail_bps, and more could not be sent or was not allowed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/word.h"

#define ESTIMATE_KINDS(ROW)                                                                                  \
    ROW(ESTIMATE_NONE, 0, "none")         /* nothing is known yet */                                         \
    ROW(ESTIMATE_VALUE, 1, "value")       /* avail_bps in [low_bps, high_bps] */                             \
    ROW(ESTIMATE_AT_LEAST, 2, "at-least") /* avail_bps == low_bps, no upper end */                           \
    ROW(ESTIMATE_REFUSED, 3, "refused")   /* reason says why */

/* ROW(constant, value, word, what it means and what helps). */
#define ESTIMATE_REASONS(ROW)                                                                                \
    ROW(ESTIMATE_SURE, 0, "none", "")                                                                        \
    ROW(ESTIMATE_NO_ANSWER, 1, "no-answer",                                                                  \
        "no report of a train came back: see whether the peer is up, and UDP port 7840 "                     \
        "open both ways")                                                                                    \
    ROW(ESTIMATE_NOISE, 2, "stamps-too-coarse",                                                              \
        "the ends' stamps vary by more than was asked for: a CPU of its own for the "                        \
        "worker (lcores, idle: poll), hardware stamps, or a larger probe: width helps")                      \
    ROW(ESTIMATE_BATCHES, 3, "batches-too-long",                                                             \
        "packets come in batches longer than a train may be: less interrupt coalescing "                     \
        "and no receive offload on the receiver's NIC helps")                                                \
    ROW(ESTIMATE_DEPARTURES, 4, "departures-late",                                                           \
        "the sending host's CPU was away while trains left: give its worker a CPU of "                       \
        "its own (lcores, idle: poll, isolcpus), or try again when the host is idle")                        \
    ROW(ESTIMATE_JITTER, 5, "jitter",                                                                        \
        "delays vary by more than a queue explains, as on radio links and busy "                             \
        "hypervisors: try again at a quieter time")                                                          \
    ROW(ESTIMATE_LOSS, 6, "loss",                                                                            \
        "too few of the trains' packets came: show ports and show edges tell whether an "                    \
        "end or the path loses them")                                                                        \
    ROW(ESTIMATE_BUDGET, 7, "budget",                                                                        \
        "what may be sent does not suffice: raise bytes or load in probe: of the node "                      \
        "file")                                                                                              \
    ROW(ESTIMATE_UNSTEADY, 8, "unsteady",                                                                    \
        "trains contradict each other, as other traffic changes while they are sent: "                       \
        "try again")                                                                                         \
    ROW(ESTIMATE_NO_END, 9, "not-found",                                                                     \
        "the search has not come to an end: try again, or raise bytes in probe: of the "                     \
        "node file")                                                                                         \
    ROW(ESTIMATE_CLOCKS, 10, "clock-steps",                                                                  \
        "a clock was set in the middle of the trains: let the hosts' clocks be slewed, "                     \
        "not stepped, and try again")

/* Where an estimate was wanted by a time and there is none yet. */
#define ESTIMATE_NOT_IN_TIME      "not-in-time"
#define ESTIMATE_NOT_IN_TIME_HELP "the time of its turn was too short: measure this path alone"

/* What was seen besides: bits. */
#define ESTIMATE_FLAGS(ROW)                                                                                  \
    ROW(ESTIMATE_SHAPER, 1, "shaper") /* a token bucket: capacity_bps is its rate, depth_bytes its depth */  \
    ROW(ESTIMATE_POLICER, 2, "policer")     /* the same, and it drops */                                     \
    ROW(ESTIMATE_MULTI_HOP, 4, "multi-hop") /* another hop queues too: avail_bps is a lower bound */         \
    ROW(ESTIMATE_LOSSY, 8, "lossy")         /* packets were lost besides those of a full queue */            \
    ROW(ESTIMATE_REORDERED, 16, "reordered")                                                                 \
    ROW(ESTIMATE_BATCHED, 32, "batched")  /* stamps of batches were repaired */                              \
    ROW(ESTIMATE_CHANGED, 64, "changed")  /* so has the path: older estimates do not count */                \
    ROW(ESTIMATE_IN_BAND, 128, "in-band") /* from data that was sent anyway */

#define ESTIMATE_FLAGS_BYTES 128 /* of text, its end included */

enum estimate_kind { ESTIMATE_KINDS(WORD_CONSTANT) };
enum estimate_reason { ESTIMATE_REASONS(WORD_CONSTANT) };
enum estimate_flag { ESTIMATE_FLAGS(WORD_CONSTANT) };

/* FIELD(type, name): what is found, and what it took. The struct, the record that travels (ctl/estimate.h)
 * and the columns of the planner's history are these lists. */
#define ESTIMATE_FOUND(FIELD)                                                                                \
    FIELD(u8, kind)       /* enum estimate_kind */                                                           \
    FIELD(u8, reason)     /* enum estimate_reason */                                                         \
    FIELD(u8, stamp_kind) /* enum stamp_kind: the worse of both ends */                                      \
    FIELD(u32, flags)     /* of enum estimate_flag */                                                        \
    FIELD(u64, avail_bps)                                                                                    \
    FIELD(u64, low_bps)                                                                                      \
    FIELD(u64, high_bps)                                                                                     \
    FIELD(u64, capacity_bps) /* of the tight hop; 0: not known */                                            \
    FIELD(u64, depth_bytes)  /* of a shaper or policer; 0: none, or not known */                             \
    FIELD(u64, loss_ppm)     /* of the trains' packets, besides full queues */
#define ESTIMATE_SPENT(FIELD)                                                                                \
    FIELD(u64, busy_ns)   /* in which the trains kept the tight hop busy, within the window */               \
    FIELD(u64, bytes)     /* on the wire */                                                                  \
    FIELD(u32, trains)    /* that went in … */                                                             \
    FIELD(u32, discarded) /* … and that did not */

#define ESTIMATE_TYPE_u8             uint8_t
#define ESTIMATE_TYPE_u32            uint32_t
#define ESTIMATE_TYPE_u64            uint64_t
#define ESTIMATE_DECLARE(type, name) ESTIMATE_TYPE_##type name;

struct estimate {
    ESTIMATE_FOUND(ESTIMATE_DECLARE)
    uint64_t from_ns, until_ns; /* the window, sender's clock: first and last departure that went in */
    ESTIMATE_SPENT(ESTIMATE_DECLARE)
};

/* It is a value, or a lower end. */
static inline bool estimate_says(const struct estimate *estimate)
{
    return estimate->kind == ESTIMATE_VALUE || estimate->kind == ESTIMATE_AT_LEAST;
}
const char *estimate_kind_word(unsigned kind);
const char *estimate_reason_word(unsigned reason);
/* What the word of a reason means, and what helps: a sentence; "": nothing to say, or no such word. */
const char *estimate_reason_help(const char *word);
/* No rate of it is above most_bps, as no path is faster than its ends' ports. 0: they are not known. */
void estimate_clip(struct estimate *estimate, uint64_t most_bps);
/* Bit `index` of the flags as a word; NULL beyond the last. */
const char *estimate_flag_word(unsigned index);
/* Words of all flags, with blanks between them. */
void estimate_flags_text(uint32_t flags, char text[ESTIMATE_FLAGS_BYTES]);
