#include "node/role/manifest.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "node/job/object_kind.h"
#include "node/kind/stream.h"
#include "node/job_state.h"

#define MANIFEST_VERSION 1
#define HASH_NAME        "sha256_of_block_sha256s"
#define CHAIN_NAME       "sha256_chain_of_block_sha256s" /* store/disk.h */

static void report_hash(const struct job *job, bool whole, struct report *report)
{
    char text[2 * WIRE_HASH_BYTES + 1] = "";
    bool stream = job->stream != NULL;
    bool known = stream ? job->stream->end_known && job->source->spec.hash != PART_HASH_NONE
                        : job->source->digest_known;
    const struct wire_hash *hash = stream ? &job->stream->end.chain : &job->source->digest;
    for (unsigned index = 0; whole && known && index < WIRE_HASH_BYTES; index++)
        snprintf(text + (size_t)2 * index, 3, "%02x", hash->bytes[index]);
    report_text(report, stream ? CHAIN_NAME : HASH_NAME, text);
}

static uint64_t blocks(const struct job *job)
{
    if (job->stream == NULL)
        return job->geometry.blocks;
    uint32_t block_symbols = job->geometry.block_symbols;
    return (job->stream->window.next + block_symbols - 1) / block_symbols;
}

/* In units of 1 us, so that six decimals of a second are whole. */
static uint64_t since_us(const struct job *job, uint64_t at_ns)
{
    return at_ns == 0 ? 0 : elapsed_ns(at_ns, job->created_ns) / NS_PER_US;
}

static void report_site(const struct node *node, const struct job *job, const struct site *site,
                        struct report *report)
{
    bool whole = job_result_is_whole(site->state);
    struct site_told told = source_site_told(node, job, site);
    report_row(report);
    report_text(report, "name", site->name);
    report_text(report, "state", told.state);
    report_u64(report, "size_bytes", whole ? job->kind->size_bytes(job) : site->verified_bytes);
    report_fixed(report, "complete_s", since_us(job, site->complete_ns), 6);
    report_hash(job, whole, report);
    report_text(report, "path", whole ? site->text : "");
    report_text(report, "error", whole ? "" : told.text);
    report_row_end(report);
}

static void report_manifest(const struct node *node, const struct job *job, struct report *report)
{
    report_u64(report, "manifest", MANIFEST_VERSION);
    report_text(report, "job", job->source->spec.name);
    report_text(report, "state", job_state_name(job_state(job)));
    report_text(report, "error", job->text);
    report_text(report, "note", job->note);
    report_text(report, "source", node->config.name);
    report_text(report, "security", node->config.primitives->authenticates ? "sealed" : "none");
    report_text(report, "source_path", job->source->spec.file);
    report_text(report, "directory", job->source->spec.directory);
    report_text(report, "file", job->part.file);
    report_u64(report, "size_bytes", job->kind->size_bytes(job));
    report_file_time(report, "modified_ns", job->source->modified_ns);
    report_u64(report, "block_bytes", (uint64_t)job->geometry.block_symbols * job->geometry.symbol_bytes);
    report_u64(report, "blocks", blocks(job));
    report_text(report, "block_hash", job->source->spec.hash == PART_HASH_SHA256 ? "sha256" : "none");
    report_hash(job, true, report);
    report_fixed(report, "first_data_s", since_us(job, job->first_data_ns), 6);
    report_fixed(report, "ended_s", since_us(job, job->ended_ns), 6);
    report_text(report, "manifest_path", job->source->manifest_path);
    report_table(report, "sites");
    for (uint16_t index = 0; index < job->source->site_count; index++)
        if (job->source->sites[index].receiver)
            report_site(node, job, &job->source->sites[index], report);
    report_table_end(report);
}

bool manifest_show(const struct node *node, const char *name, struct report *report)
{
    const struct job *newest = NULL;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (job_is_known(job) && job->source != NULL &&
            (name[0] == '\0' || job_name_fits(name, job->source->spec.name, job->id)) &&
            (newest == NULL || job->created_ns >= newest->created_ns))
            newest = job;
    }
    if (newest != NULL)
        report_manifest(node, newest, report);
    return newest != NULL;
}

/* As soon as the last block was read at the source, so that the hash is known when the last site is done. */
void manifest_tick(struct node *node, struct job *job)
{
    if (job->source->digest_asked || job->object == NULL || !phase_runs(job->phase) ||
        job->part.fixed.hash == PART_HASH_NONE || job->hash_ready < job->geometry.blocks)
        return;
    uint64_t bytes = job->geometry.blocks * sizeof(job->object->hash[0]);
    if (bytes > UINT32_MAX)
        return;
    job->source->digest_asked = true;
    job_request(node, job,
                &(struct disk_request){
                    .op = DISK_DIGEST, .length = (uint32_t)bytes, .data = (uint8_t *)job->object->hash});
}

/* What was noted before stays, as far as there is room behind it. */
static void fail(struct node *node, struct job *job, const char *cause)
{
    size_t length = strlen(job->note);
    node->counters.manifests_failed++;
    job->source->manifest = MANIFEST_OVER;
    snprintf(job->note + length, sizeof(job->note) - length, "%sno manifest: %s", length > 0 ? "; " : "",
             cause);
}

static struct manifest_file *free_file(struct node *node)
{
    for (uint32_t index = 0; index < MANIFESTS_MAX; index++)
        if (!node->manifests[index].busy)
            return &node->manifests[index];
    return NULL;
}

static void ask_disk(struct node *node, struct job *job, struct manifest_file *file, const char *directory,
                     size_t length)
{
    const struct job_spec *spec = &job->source->spec;
    file->busy = true;
    file->job = job->id;
    file->open = (struct disk_open){.durable = spec->durable};
    /* The job's own place is where the caller may write; the node's is the operator's word. */
    if (spec->manifest[0] != '\0' && spec->rights.kind != RIGHTS_OWN) {
        file->open.rights = spec->rights;
        file->open.rights.kind = RIGHTS_CALLER;
    }
    name_copy(file->open.directory, sizeof(file->open.directory), directory);
    snprintf(file->open.file, sizeof(file->open.file), "%s.manifest.json", spec->name);
    disk_queue_push(&node->disk_queue,
                    &(struct disk_request){.op = DISK_MANIFEST,
                                           .handle = (uint8_t)(MANIFEST_HANDLE + (file - node->manifests)),
                                           .length = (uint32_t)length,
                                           .data = (uint8_t *)file->text,
                                           .open = &file->open});
    job->source->manifest = MANIFEST_ASKED;
}

static void begin(struct node *node, struct job *job, struct manifest_file *file, const char *directory)
{
    struct report report;
    report_begin(&report, REPORT_JSON, file->text, MANIFEST_BYTES);
    report_manifest(node, job, &report);
    if (report_end(&report))
        ask_disk(node, job, file, directory, report.length);
    else
        fail(node, job, "it is too long");
}

bool manifest_write(struct node *node, struct job *job)
{
    struct source *source = job->source;
    const char *directory = source->spec.manifest[0] != '\0' ? source->spec.manifest : node->config.manifests;
    if (directory[0] == '\0' || job->started_ns == 0 || source->manifest == MANIFEST_OVER)
        return true;
    struct manifest_file *file = source->manifest == MANIFEST_ASKED ? NULL : free_file(node);
    if (source->manifest == MANIFEST_NONE) {
        source->manifest = MANIFEST_WAITS;
        source->manifest_ns = core_lived_ns(node);
    }
    if (file != NULL)
        begin(node, job, file, directory);
    else if (core_lived_ns(node) >= later_ns(source->manifest_ns, node->config.stall_timeout_ns))
        fail(node, job,
             source->manifest == MANIFEST_ASKED ? "its folder does not answer"
                                                : "the folders of others do not answer");
    return source->manifest == MANIFEST_OVER;
}

void manifest_on_digest(struct job *job, const struct disk_reply *reply)
{
    job->source->digest_known = reply->status == DISK_OK;
    job->source->digest = reply->hash;
}

void manifest_on_disk(struct node *node, const struct disk_reply *reply)
{
    CHECK(reply->op == DISK_MANIFEST && reply->handle - MANIFEST_HANDLE < MANIFESTS_MAX);
    struct manifest_file *file = &node->manifests[reply->handle - MANIFEST_HANDLE];
    CHECK(file->busy);
    file->busy = false;
    struct job *job = job_of_source(node, file->job);
    if (job == NULL)
        return;
    bool waited_for = job->source->manifest == MANIFEST_ASKED;
    if (reply->status == DISK_OK) {
        name_copy(job->source->manifest_path, sizeof(job->source->manifest_path), reply->text);
        job->source->manifest = MANIFEST_OVER;
    } else if (waited_for) {
        fail(node, job, reply->text);
    }
}
