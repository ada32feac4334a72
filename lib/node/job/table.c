/* The slots of jobs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/core/key_room.h"
#include "node/job/job.h"

/* What the peer has to do with a job for that to be the one that is meant. */
typedef bool job_fits(const struct job *job, uint16_t peer);

static bool is_any(const struct job *job, uint16_t peer)
{
    (void)peer;
    return job->phase != PHASE_FREE;
}

static bool is_own(const struct job *job, uint16_t peer)
{
    (void)peer;
    return job->source != NULL;
}

static bool is_from(const struct job *job, uint16_t peer)
{
    return job->source == NULL && job->source_peer == peer;
}

static bool is_fed_by(const struct job *job, uint16_t peer)
{
    return job->source == NULL && trees_fed_by(job, peer) != 0;
}

static bool feeds(const struct job *job, uint16_t peer)
{
    return job->children.of_peer[peer] != CHILD_NONE;
}

/* One that is over is meant where there is no other. */
static inline struct job *find(struct node *node, uint32_t id, job_fits *fits, uint16_t peer)
{
    struct job *found = NULL;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *job = &node->jobs[slot];
        if (node->job_ids[slot] == id && job->phase != PHASE_FREE && fits(job, peer) &&
            (found == NULL || phase_ends(found->phase)))
            found = job;
    }
    return found;
}

struct job *job_find(struct node *node, uint32_t id)
{
    return find(node, id, is_any, PEER_NONE);
}

struct job *job_from(struct node *node, uint32_t id, uint16_t source)
{
    return find(node, id, is_from, source);
}

struct job *job_fed_by(struct node *node, uint32_t id, uint16_t parent)
{
    return find(node, id, is_fed_by, parent);
}

struct job *job_feeding(struct node *node, uint32_t id, uint16_t child)
{
    return find(node, id, feeds, child);
}

bool job_name_fits(const char *word, const char *name, uint32_t id)
{
    char digits[16];
    snprintf(digits, sizeof(digits), "%" PRIu32, id);
    return strcmp(word, name) == 0 || strcmp(word, digits) == 0;
}

struct job *job_of_source(struct node *node, uint32_t id)
{
    return find(node, id, is_own, PEER_NONE);
}

/* A free one, else the one that ended first, of that source where it has many. */
static struct job *choose_slot(struct node *node, uint16_t source)
{
    struct job *chosen = NULL, *own = NULL;
    uint32_t has = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *job = &node->jobs[slot];
        if (job->phase == PHASE_FREE)
            return job;
        has += job->source_peer == source;
        if (job->phase != PHASE_CLOSED)
            continue;
        if (chosen == NULL || job->ended_ns < chosen->ended_ns)
            chosen = job;
        if (job->source_peer == source && (own == NULL || job->ended_ns < own->ended_ns))
            own = job;
    }
    return own != NULL && has >= NODE_JOBS_MAX / 2 ? own : chosen;
}

struct job *job_allocate(struct node *node, uint32_t id, uint16_t source, enum job_phase first,
                         uint64_t now_ns)
{
    struct job *job = choose_slot(node, source);
    if (job == NULL)
        return NULL;
    uint8_t generation = (uint8_t)(job->generation + 1);
    memset(job, 0, sizeof(*job));
    memset(job->children.of_peer, CHILD_NONE, sizeof(job->children.of_peer));
    job->slot = (uint8_t)(job - node->jobs);
    job->secret = &node->key_room->secrets[job->slot];
    memset(job->secret, 0, sizeof(*job->secret));
    job->generation = generation;
    job->id = id;
    job->created_ns = now_ns;
    memset(job->trees.parent, 0xff, sizeof(job->trees.parent)); /* PEER_NONE */
    job->source_peer = source;
    job->controls.priority = JOB_PRIORITY_NORMAL;
    job_enter(node, job, first);
    node->job_ids[job->slot] = id;
    node->counters.jobs_started++;
    return job;
}

void job_free(struct node *node, struct job *job)
{
    job_enter(node, job, PHASE_FREE);
    node->job_ids[job->slot] = 0;
}
