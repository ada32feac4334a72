/* What source and sites of a job share: phase and result, its object, requests to the disk. */
#include "node/job/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "node/core/key_room.h"
#include "node/job/object_kind.h"
#include "node/job_state.h"
#include "seal/wipe.h"

/* A parent that goes on feeding a job which has ended here is told so again. */
#define PARTING_INTERVAL_NS NS_PER_S

void job_enter(struct node *node, struct job *job, enum job_phase phase)
{
    CHECK(phase_may_follow(job->phase, phase));
    job->phase = phase;
    job->phase_ns = core_lived_ns(node);
}

/* The pipe of a stream that ran is still open: what is written into it could be lost to this job. */
static bool holds_pipe(const struct job *job)
{
    return job->phase == PHASE_CLOSING && job->kind->endless && job->started_ns != 0 &&
           job->disk.sink != SINK_CLOSED;
}

enum job_state job_state(const struct job *job)
{
    if (holds_pipe(job))
        return JOB_RUNNING;
    return (enum job_state)(phase_ends(job->phase) ? job->outcome : phase_state(job->phase));
}

bool job_sink_lost(const struct job *job)
{
    return job->disk.lost;
}

void job_request(struct node *node, struct job *job, const struct disk_request *request)
{
    struct disk_request whole = *request;
    whole.handle = job->slot;
    disk_queue_push(&node->disk_queue, &whole);
    if (job->disk.outstanding++ == 0)
        job->disk.heard_ns = core_lived_ns(node);
}

void job_disks_move(struct node *node, uint16_t jobs)
{
    for (; jobs != 0; jobs &= (uint16_t)(jobs - 1))
        node->jobs[__builtin_ctz(jobs)].disk.heard_ns = core_lived_ns(node);
}

void job_withdraw_writes(struct node *node, struct job *job)
{
    struct disk_request request;
    while (disk_queue_withdraw(&node->disk_queue, job->slot, &request)) {
        job->disk.outstanding--;
        object_write_done(job->object, request.cookie, false, NULL);
    }
}

uint32_t job_ip_overhead(const struct node *node)
{
    uint32_t overhead = address_overhead_bytes(ADDRESS_IPV4);
    for (uint16_t index = 0; index < node->peer_count; index++)
        overhead = MAX(overhead, address_overhead_bytes(node->config.peers[index].address.family));
    return overhead;
}

/* Who brings which stripe of the object, and who gets it. */
static bool stripe_object(struct job *job, struct err *err)
{
    uint8_t stripes[CONTROL_CHILDREN_MAX];
    memcpy(job->object->owner, job->trees.parent, sizeof(job->object->owner));
    for (uint16_t child = 0; child < job->children.count; child++)
        stripes[child] = job->children.of[child].stripes;
    if (!object_stripe(job->object, &job->trees.schedule, stripes, err))
        return false;
    if (job->source == NULL && job->trees.schedule.count > 1)
        object_leave_out(job->object, trees_fed(job));
    return true;
}

/* What its content is sealed with, and whether it lies so in memory: not where it is passed on to nobody. */
static void seal_object(const struct node *node, struct job *job)
{
    job->secret->job = job->id;
    job->secret->symbol_bytes = job->geometry.symbol_bytes;
    job->secret->block_symbols = job->geometry.block_symbols;
    job->secret->empty = node->config.bodies_shared;
    job->object->sealed = job_seals(node) && (job->source != NULL || job->children.count > 0);
}

struct disk_sealed job_sealed(const struct node *node, const struct job *job, uint32_t slot, uint64_t symbol)
{
    if (!job->object->sealed)
        return (struct disk_sealed){.secret = NULL};
    const struct slot *of = &node->store.slots[slot];
    return (struct disk_sealed){
        .secret = job->secret, .symbol = symbol, .tags = of->tags, .sums = slot_sums(&node->store, of)};
}

void job_forget_secret(struct node *node, struct job *job)
{
    wipe(job->secret, sizeof(*job->secret));
    for (unsigned group = 0; group < KEY_ROOM_GROUPS; group++)
        body_cipher_forget(&node->key_room->bodies[job->slot][group]);
}

bool job_open_object(struct node *node, struct job *job, bool source, bool discard, struct err *err)
{
    job->object = object_open(&node->store, &job->geometry, source, discard, job->children.count, err);
    if (job->object == NULL)
        return false;
    seal_object(node, job);
    if (!stripe_object(job, err)) {
        object_close(job->object);
        job->object = NULL;
        return false;
    }
    if (job->kind->on_open != NULL)
        job->kind->on_open(node, job);
    return true;
}

static void __attribute__((format(printf, 3, 0)))
copy_failed(struct node *node, struct job *job, const char *format, va_list arguments)
{
    vsnprintf(job->text, sizeof(job->text), format, arguments);
    job->result = SITE_FAILED;
    job->news.status_due = true;
    node->counters.jobs_failed++;
    core_note_state(node, job->id, SITE_FAILED);
    core_wake_jobs(node, node->now_ns);
    core_schedule(node, node->now_ns);
}

void job_revoke(struct node *node, struct job *job, const char *format, ...)
{
    if (job->result == SITE_FAILED)
        return;
    va_list arguments;
    va_start(arguments, format);
    copy_failed(node, job, format, arguments);
    va_end(arguments);
}

/* A copy that was whole before stays so. */
void job_fail(struct node *node, struct job *job, uint64_t now_ns, const char *format, ...)
{
    if (job->disk.lost)
        return;
    va_list arguments;
    va_start(arguments, format);
    if (job->result == SITE_RECEIVING)
        copy_failed(node, job, format, arguments);
    va_end(arguments);
    job->disk.lost = true;
    /* From now on blocks live in memory until every child has them. A child that needs one which is only on
     * the lost disk cannot be served: it will be named by the source's stall check. */
    if (job->object != NULL)
        object_disk_lost(job->object);
    job_withdraw_writes(node, job);
    if (job->phase == PHASE_RUNNING || job->phase == PHASE_FINISHING)
        job_enter(node, job, PHASE_SERVING);
    if (job->object != NULL && job->kind->on_sink_lost != NULL)
        job->kind->on_sink_lost(node, job);
    core_wake_jobs(node, now_ns);
    core_schedule(node, now_ns);
}

void job_on_fed(struct node *node, struct job *job)
{
    struct job_news *news = &job->news;
    if (job->end_heard || !phase_ends(job->phase) ||
        (news->parting_ns != 0 && node->now_ns < later_ns(news->parting_ns, PARTING_INTERVAL_NS)))
        return;
    news->parting_due = true;
    core_wake_jobs(node, node->now_ns);
    core_schedule(node, node->now_ns);
}

void job_finish(struct node *node, struct job *job)
{
    job_enter(node, job, PHASE_FINISHING);
    job_request(node, job, &(struct disk_request){.op = DISK_FINISH});
}

void job_verified(struct node *node, struct job *job, const char *text)
{
    if (job->phase != PHASE_SERVING)
        job_enter(node, job, PHASE_SERVING);
    if (job->result == SITE_FAILED)
        return;
    job->result = SITE_VERIFIED;
    job->whole_ns = node->now_ns;
    name_copy(job->text, sizeof(job->text), text);
    job->news.status_due = true;
    core_note_state(node, job->id, SITE_VERIFIED);
}
