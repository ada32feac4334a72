/* Forwarding table: what a node does with a symbol of (job, stripe). An immutable snapshot: a change makes
 * the next snapshot from the current one and the owner switches a pointer between two packets; readers never
 * see half a change.
 *
 * Lookup is one probe sequence in an open-addressed index of FORWARD_INDEX places, at most half full. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FORWARD_ENTRIES_MAX  128
#define FORWARD_INDEX        256
#define FORWARD_CHILDREN_MAX 16
#define FORWARD_PEER_NONE    UINT16_MAX

struct forward_child {
    uint16_t peer; /* index in the node's configuration */
    uint16_t port;
    uint64_t rate_bps; /* wire rate by the plan */
};

struct forward_entry {
    uint32_t job;
    uint32_t epoch;
    uint8_t stripe;
    uint8_t job_slot; /* the node's own index of the job */
    bool keep;        /* this node wants the object itself */
    uint8_t child_count;
    uint16_t parent; /* the only peer that may send it; FORWARD_PEER_NONE at the source */
    struct forward_child children[FORWARD_CHILDREN_MAX];
};

struct forward_table {
    uint32_t generation; /* counts changes */
    uint32_t count;
    struct forward_entry entries[FORWARD_ENTRIES_MAX];
    uint16_t index[FORWARD_INDEX]; /* 1 + place in entries; 0: empty */
};

void forward_init(struct forward_table *table);
/* NULL: this node has no part in it. */
const struct forward_entry *forward_lookup(const struct forward_table *table, uint32_t job, uint8_t stripe);
/* `next` becomes `current` with the entry added, or put in the place of the one with the same job and stripe.
 * False: the table is full, next is unusable. next != current. */
bool forward_with(struct forward_table *next, const struct forward_table *current,
                  const struct forward_entry *entry);
/* `next` becomes `current` without any entry of the job. */
void forward_without(struct forward_table *next, const struct forward_table *current, uint32_t job);
