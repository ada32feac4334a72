/* What this node knows of paths between any two sites, because it has asked their senders: estimates, or why there is none.
 *
 * Who asks here names the pair; the sender's answer comes in a message, or does not: then the pair is given up after the time that
 * was named. What comes goes into the table of paths, and to the planner's history. Sites are those of peer/path_table.h; the
 * pair of a site with itself is its line out, and that of PATH_SITE_ANY with it its line in, which it measures itself. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "node/packet.h"
#include "node/peer/path_table.h"
#include "node/peer/peer.h"
#include "probe/known.h"
#include "wire/control.h"

#define PAIRS_OPEN_MAX  256 /* that wait for an answer */
#define PAIRS_WHY_BYTES 96
#define PAIRS_REPLY_NS  (2 * NS_PER_S) /* for an answer, beyond the measurement and two round trips */

struct pair_result {
    struct estimate estimate; /* the newest; times of its window: this node's, as far as ages tell */
    struct known known;       /* all of them as one */
    uint64_t known_ns;        /* when the newest answer came, or was given up; 0: never */
    uint64_t rtt_ns;          /* as its sender sees it; 0: not known */
    uint64_t
        maybe_bps; /* of a line: what an answer that was refused may have found, and none since has; 0: nothing */
    uint64_t maybe_ns; /* … and when */
    uint8_t answer;    /* enum probe_answer: of the newest */
    bool asked;        /* an answer is waited for */
    bool news;         /* the planner was not told */
    char why[PAIRS_WHY_BYTES];
};

struct pair_open {
    uint16_t from, to; /* sites */
    uint32_t id;
    uint64_t give_up_ns;
};

struct pairs {
    uint16_t count; /* of sites */
    struct pair_result *results;
    uint32_t next_id;
    uint32_t news_count;
    uint16_t open_count;
    struct pair_open open[PAIRS_OPEN_MAX];
};

/* One that is over. */
struct pair_end {
    uint16_t from, to;
    const struct pair_result *result;
};

size_t pairs_bytes(const struct node_config *config); /* of arena */
void pairs_init(struct node *node, struct arena *arena);
/* Who measures is asked, the sender, or of a line in its receiver, by a message (or, itself, directly). False with the reason: it is not, for now. */
bool pairs_ask(struct node *node, uint16_t from, uint16_t to, struct wire_probe_ask *ask, uint64_t now_ns,
               struct err *err);
/* The same by names, for an operator: as long as it takes. */
bool pairs_ask_by_name(struct node *node, const char *from, const char *to, uint64_t now_ns, struct err *err);
/* False: it answers nothing that was asked, or is no estimate. */
bool pairs_on_answer(struct node *node, uint16_t peer, const struct control_probe_answer *answer,
                     uint64_t now_ns, struct pair_end *end);
/* One whose answer did not come; false: there is none. */
bool pairs_give_up(struct node *node, uint64_t now_ns, struct pair_end *end);
/* That peer was asked for a path, or its line, and has not answered. */
bool pairs_waits_for(const struct node *node, uint16_t peer);
uint64_t pairs_next_ns(const struct node *node); /* when the first is given up; TIME_NEVER: none waits */
const struct pair_result *pairs_result(const struct node *node, uint16_t from, uint16_t to);
/* A pair that there is a new estimate of, each once; NULL: there is none. */
const struct pair_result *pairs_take_news(struct node *node, uint16_t *from, uint16_t *to);
/* The peer has lost its state: it answers nothing that it was asked. */
void pairs_forget(struct node *node, uint16_t peer, uint64_t now_ns);
const char *pairs_site_name(const struct node *node, uint16_t site);
