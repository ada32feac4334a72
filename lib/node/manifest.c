/* The final manifest of a job: what every site got. Told on request from memory (show manifest), and written
 * as a file by the source's disk when the job ends, before its slot can be used again.
 *
 * The hash of the object is the SHA-256 of its blocks' SHA-256s, one after the other in their order, and is
 * named so: a hash of the whole file would be a second pass over every byte. A site that is verified has
 * compared every block's hash with the source's, so the same value holds there. Times are durations since the
 * command: a node knows no time of day. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "node/internal.h"

#define MANIFEST_VERSION 1
#define HASH_NAME        "sha256_of_block_sha256s"
#define CHAIN_NAME       "sha256_chain_of_block_sha256s" /* store/disk.h */

static void report_hash(const struct job *job, bool whole, struct report *report)
{
    char text[2 * WIRE_HASH_BYTES + 1] = "";
    bool stream = job->stream.on;
    bool known = stream ? job->stream.end_known && job->spec.hash != PART_HASH_NONE : job->digest_known;
    const struct wire_hash *hash = stream ? &job->stream.end.chain : &job->digest;
    for (unsigned index = 0; whole && known && index < WIRE_HASH_BYTES; index++)
        snprintf(text + (size_t)2 * index, 3, "%02x", hash->bytes[index]);
    report_text(report, stream ? CHAIN_NAME : HASH_NAME, text);
}

/* A stream's size is what came, so far or in all; its geometry is that of the window. */
static uint64_t size_bytes(const struct job *job)
{
    return job->stream.on ? job->stream.bytes : job->geometry.size_bytes;
}

static uint64_t blocks(const struct job *job)
{
    if (!job->stream.on)
        return job->geometry.blocks;
    uint32_t block_symbols = job->geometry.block_symbols;
    return (job->stream.window.next + block_symbols - 1) / block_symbols;
}

/* In units of 1 us, so that six decimals of a second are whole. */
static uint64_t since_us(const struct job *job, uint64_t at_ns)
{
    return at_ns == 0 ? 0 : elapsed_ns(at_ns, job->created_ns) / NS_PER_US;
}

static void report_site(const struct job *job, const struct site *site, struct report *report)
{
    bool whole = site->state == SITE_VERIFIED || site->state == SITE_SKIPPED;
    report_row(report);
    report_text(report, "name", site->name);
    report_text(report, "state", site_state_name(site->state));
    report_u64(report, "size_bytes", whole ? size_bytes(job) : site->verified_bytes);
    report_fixed(report, "complete_s", since_us(job, site->complete_ns), 6);
    report_hash(job, whole, report);
    report_text(report, "path", whole ? site->text : "");
    report_text(report, "error", whole ? "" : site->text);
    report_row_end(report);
}

static void report_manifest(const struct node *node, const struct job *job, struct report *report)
{
    report_u64(report, "manifest", MANIFEST_VERSION);
    report_text(report, "job", job->spec.name);
    report_text(report, "state", job_state_name(job->state));
    report_text(report, "error", job->text);
    report_text(report, "note", job->note);
    report_text(report, "source", node->config.name);
    report_text(report, "source_path", job->spec.file);
    report_text(report, "directory", job->spec.directory);
    report_text(report, "file", job->part.file);
    report_u64(report, "size_bytes", size_bytes(job));
    report_u64(report, "modified_ns", job->modified_ns);
    report_u64(report, "block_bytes", (uint64_t)job->geometry.block_symbols * job->geometry.symbol_bytes);
    report_u64(report, "blocks", blocks(job));
    report_text(report, "block_hash", job->spec.hash == PART_HASH_SHA256 ? "sha256" : "none");
    report_hash(job, true, report);
    report_fixed(report, "first_data_s", since_us(job, job->first_data_ns), 6);
    report_fixed(report, "ended_s", since_us(job, job->ended_ns), 6);
    report_text(report, "manifest_path", job->manifest_path);
    report_table(report, "sites");
    for (uint16_t index = 0; index < job->site_count; index++)
        if (job->sites[index].receiver)
            report_site(job, &job->sites[index], report);
    report_table_end(report);
}

bool manifest_show(const struct node *node, const char *name, struct report *report)
{
    const struct job *newest = NULL;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (job->in_use && job->is_source && (name[0] == '\0' || strcmp(job->spec.name, name) == 0) &&
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
    if (job->digest_asked || job->object == NULL || job->state != JOB_RUNNING ||
        job->part.fixed.hash == PART_HASH_NONE || job->hash_ready < job->geometry.blocks)
        return;
    uint64_t bytes = job->geometry.blocks * sizeof(job->object->hash[0]);
    if (bytes > UINT32_MAX)
        return;
    job->digest_asked = true;
    job_disk(node, job,
             &(struct disk_request){
                 .op = DISK_DIGEST, .length = (uint32_t)bytes, .data = (uint8_t *)job->object->hash});
}

bool manifest_write(struct node *node, struct job *job)
{
    const char *directory = job->spec.manifest[0] != '\0' ? job->spec.manifest : node->config.manifests;
    struct manifest_file *file = &node->manifest;
    if (directory[0] == '\0' || job->started_ns == 0 || job->manifest_asked)
        return true;
    if (file->busy)
        return false;
    job->manifest_asked = true;
    struct report report;
    report_begin(&report, REPORT_JSON, file->text, NODE_MANIFEST_BYTES);
    report_manifest(node, job, &report);
    if (!report_end(&report)) {
        node->counters.manifests_failed++;
        return true;
    }
    file->busy = true;
    file->open = (struct disk_open){.durable = job->spec.durable};
    name_copy(file->open.directory, sizeof(file->open.directory), directory);
    snprintf(file->open.file, sizeof(file->open.file), "%s.manifest.json", job->spec.name);
    job_disk(node, job,
             &(struct disk_request){.op = DISK_MANIFEST,
                                    .length = (uint32_t)report.length,
                                    .data = (uint8_t *)file->text,
                                    .open = &file->open});
    return false;
}

void manifest_on_disk(struct node *node, struct job *job, const struct disk_reply *reply)
{
    bool done = reply->status == DISK_OK;
    if (reply->op == DISK_DIGEST) {
        job->digest_known = done;
        job->digest = reply->hash;
        return;
    }
    node->manifest.busy = false;
    if (done)
        name_copy(job->manifest_path, sizeof(job->manifest_path), reply->text);
    else
        node->counters.manifests_failed++;
}
