/* What kinds of object have in common: the same few verbs. kind/file.c is a file or a directory, whose size
 * is known and which a disk holds; kind/stream.c has no known end and slides through memory. A verb that a
 * kind has no use for is NULL. */
#pragma once

#include "node/job/job.h"

/* What becomes of symbols that arrived. */
enum object_place {
    PLACE_INSIDE,
    PLACE_KNOWN,  /* they were here before: acked, not stored */
    PLACE_REFUSED /* there is no place for them yet: not acked */
};

struct object_kind {
    const char *name;
    const char *input_name; /* what the source reads from, in texts */
    /* Its end is not known: it pauses when its input does, and blocks can't
     * be had again once they are gone. */
    bool endless;
    /* The object was opened: also anew, after another part. */
    void (*on_open)(struct node *node, struct job *job);
    void (*on_start)(struct node *node, struct job *job, uint64_t now_ns);
    /* Of a job that runs, every JOB_TICK_NS and after events. */
    void (*on_tick)(struct node *node, struct job *job, uint64_t now_ns);
    /* As a site: looks whether the copy is whole, and finishes it. */
    void (*check_complete)(struct node *node, struct job *job, uint64_t now_ns);
    /* Where the symbols that a packet names belong in the object: *symbol is changed to it. */
    enum object_place (*place)(const struct job *job, uint32_t count, uint64_t *symbol);
    /* The number under which a symbol of the object travels. */
    uint64_t (*number)(const struct job *job, uint64_t symbol);
    /* The number of the block that a symbol belongs to, as a packet names it. */
    uint64_t (*block)(const struct job *job, uint64_t symbol);
    void (*on_block)(struct node *node, struct job *job, uint64_t block); /* all its symbols are here */
    void (*on_put)(struct node *node, struct job *job);                   /* new symbols came */
    /* Whether the child has a place for what its feed offers, or for something else (then *item is that). */
    bool (*may_send)(const struct job *job, uint32_t child, uint32_t count_max, struct feed_item *item);
    /* Why there is nothing for a child that lacks some of it; none: the rest is on its way there. */
    enum edge_limit (*why_waits)(const struct job *job, uint8_t child);
    /* At the source: the hash of that block; NULL: not known yet, or not any more. */
    const struct wire_hash *(*hash)(const struct job *job, uint64_t block);
    /* At a site whose job is not over, from the source. */
    void (*on_hashes)(struct node *node, struct job *job, const struct control_hashes *hashes,
                      uint64_t now_ns);
    /* An answer of the disk. At the source false: the job fails; failure[DISK_TEXT_BYTES] says why. */
    bool (*on_disk)(struct node *node, struct job *job, const struct disk_reply *reply, uint64_t now_ns,
                    char *failure);
    void (*on_sink_lost)(struct node *node, struct job *job);
    /* Nothing comes from this parent any more, for the reason in job->text. */
    void (*on_parent_lost)(struct node *node, struct job *job, uint16_t parent);
    /* This parent has let go of this node, with that text. */
    void (*on_let_go)(struct node *node, struct job *job, uint16_t parent, const char *text, uint64_t now_ns);
    /* Requests that may wait for the outside world are cut short, so that the job can close. */
    void (*on_closing)(struct node *node, struct job *job);
    uint64_t (*size_bytes)(const struct job *job); /* so far, where no more is known */
    uint64_t (*received_bytes)(const struct job *job);
    uint64_t (*verified_bytes)(const struct job *job);
};

/* Where an object has no place for itself, numbers and places are the same. */
static inline uint64_t kind_number(const struct job *job, uint64_t symbol)
{
    return job->kind->number == NULL ? symbol : job->kind->number(job, symbol);
}

static inline uint64_t kind_block(const struct job *job, uint64_t symbol)
{
    return job->kind->block == NULL ? geometry_block_of(&job->geometry, symbol)
                                    : job->kind->block(job, symbol);
}

static inline enum object_place kind_place(const struct job *job, uint32_t count, uint64_t *symbol)
{
    return job->kind->place == NULL ? PLACE_INSIDE : job->kind->place(job, count, symbol);
}
