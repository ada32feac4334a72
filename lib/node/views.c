/* What a node tells programs of itself. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "node/flow/flow.h"
#include "node/job/object_kind.h"
#include "node/node.h"
#include "node/peer/path_table.h"
#include "node/role/source.h"
#include "node/train/all.h"
#include "node/train/prober.h"

#define COUNTER(name, help)       {#name, offsetof(struct node, counters.name)},
#define STORE_COUNTER(name, help) {#name, offsetof(struct node, store.counters.name)},
static const struct {
    const char *name;
    size_t offset;
} counter_rows[] = {
#include "node/counters.def"
};
#undef STORE_COUNTER
#undef COUNTER

const char *node_counter(const struct node *node, uint32_t index, uint64_t *value)
{
    if (index >= sizeof(counter_rows) / sizeof(counter_rows[0]))
        return NULL;
    memcpy(value, (const uint8_t *)node + counter_rows[index].offset, sizeof(*value));
    return counter_rows[index].name;
}

uint32_t node_job_count(const struct node *node)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        count += job_is_known(&node->jobs[slot]);
    return count;
}

static const struct job *job_at(const struct node *node, uint32_t index)
{
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++)
        if (job_is_known(&node->jobs[slot]) && index-- == 0)
            return &node->jobs[slot];
    return NULL;
}

static void view_limit(const struct node *node, const struct job *job, const struct site *site,
                       struct node_site_view *view)
{
    struct site_limit limit = source_site_limit(node, job, site);
    if (limit.cause == EDGE_LIMIT_none)
        return;
    const struct plan_node *nodes = job->source->request.nodes;
    view->limited_by = limit.cause;
    view->limited_rate_bps = limit.rate_bps;
    name_copy(view->limited_from, NAME_BYTES, nodes[limit.from].name);
    name_copy(view->limited_to, NAME_BYTES, nodes[limit.to].name);
    if (limit.held_by != PEER_NONE)
        name_copy(view->held_by, NAME_BYTES, nodes[limit.held_by].name);
}

/* What only a site has. */
static void view_as_site(const struct node *node, const struct job *job, struct node_job_view *view)
{
    uint16_t parents[STRIPES_MAX];
    uint32_t count = trees_parents(job, parents);
    view->keeps = job->part.fixed.keep;
    view->result = job->result;
    view->whole_ns = job->whole_ns;
    name_copy(view->from, sizeof(view->from), job->part.fixed.source.text);
    snprintf(view->object, sizeof(view->object), "%s/%s", job->part.fixed.directory.text, job->part.file);
    for (uint32_t index = 0; index < count; index++)
        if (parents[index] != job->source_peer)
            name_copy(view->via[view->via_count++], NAME_BYTES, node->config.peers[parents[index]].name);
}

static void view_site(const struct node *node, const struct job *job, const struct site *site,
                      struct node_site_view *view)
{
    struct site_told told = source_site_told(node, job, site);
    name_copy(view->name, sizeof(view->name), site->name);
    view->state = site->state;
    view->received_bytes = site->received_bytes;
    view->verified_bytes = site->verified_bytes;
    view->complete_ns = site->complete_ns;
    name_copy(view->text, sizeof(view->text), site->text);
    view->word = told.state;
    view->stalled_ns = told.stalled_ns;
    name_copy(view->told, sizeof(view->told), told.text);
    view_limit(node, job, site, view);
}

bool node_job_view(const struct node *node, uint32_t index, struct node_job_view *view)
{
    const struct job *job = job_at(node, index);
    if (job == NULL)
        return false;
    memset(view, 0, sizeof(*view));
    name_copy(view->name, sizeof(view->name),
              job->source != NULL ? job->source->spec.name : job->part.fixed.job_name.text);
    view->id = job->id;
    view->state = (uint8_t)job_state(job);
    view->source = job->source != NULL;
    view->controls = job->controls;
    view->size_bytes = job->kind->size_bytes(job);
    view->created_ns = job->created_ns;
    view->running_ns = job->started_ns;
    view->ended_ns = view->state >= JOB_DONE ? job->ended_ns : 0;
    view->first_data_ns = job->first_data_ns;
    name_copy(view->text, sizeof(view->text), job->text);
    name_copy(view->note, sizeof(view->note), job->note);
    if (job->source == NULL) {
        view_as_site(node, job, view);
        return true;
    }
    name_copy(view->object, sizeof(view->object), job->source->spec.file);
    view->plan = &job->source->plan;
    view->request = &job->source->request;
    view->plan_only = job->source->spec.dry_run;
    for (uint16_t site = 0; site < job->source->site_count; site++)
        if (job->source->sites[site].receiver)
            view_site(node, job, &job->source->sites[site], &view->sites[view->site_count++]);
    return true;
}

void node_peer_misfit(const struct node *node, uint32_t index, char *text, size_t room)
{
    CHECK(index < node->peer_count);
    misfit_text(node, &node->peers[index], text, room);
}

void node_peer_silence(const struct node *node, uint32_t index, char *text, size_t room)
{
    CHECK(index < node->peer_count);
    misfit_silence(node, &node->peers[index], text, room);
}

void node_narrow_line(const struct node *node, bool in, char *text, size_t room)
{
    struct wire_available_peer line;
    const struct node_port_config *port = &node->config.ports[0];
    uint64_t port_bps = in ? core_port_in_bps(port) : port->rate_bps;
    bool known = path_table_available(node->paths, in ? PATH_SITE_ANY : PATH_SITE_SELF, PATH_SITE_SELF,
                                      node->now_ns, &line);
    text[0] = '\0';
    if (known && line.high_kbps != 0 && line.avail_kbps * UINT64_C(1000) < port_bps / 4 * 3)
        snprintf(text, room,
                 "%" PRIu32 ".%03" PRIu32 " Mbit/s were left on the way %s, of the port's %" PRIu64
                 ": if that is the site's line, write %s: %" PRIu32 "Mbps%s",
                 line.avail_kbps / 1000, line.avail_kbps % 1000, in ? "in" : "out", port_bps / 1000000,
                 in ? "rate_down" : "rate", MAX(line.avail_kbps / 1000, UINT32_C(1)),
                 in ? "" : ", and as rate_down: what may come in");
}

uint64_t node_namesake(const struct node *node, char *text, size_t room)
{
    return misfit_namesake(node, text, room);
}

static uint64_t running_ns_of_edge(const struct node *node, const struct peer *peer)
{
    uint64_t first_ns = TIME_NEVER, last_ns = 0;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        const struct job *job = &node->jobs[slot];
        if (!job_is_known(job) || job->started_ns == 0 || job->children.of_peer[peer->index] == CHILD_NONE)
            continue;
        first_ns = MIN(first_ns, job->started_ns);
        last_ns = MAX(last_ns, job->ended_ns == 0 ? node->now_ns : job->ended_ns);
    }
    return last_ns > first_ns ? last_ns - first_ns : 0;
}

static struct congestion_view path_of(const struct congestion *congestion)
{
    struct congestion_view view = {.phase = ""};
    if (congestion->type->view != NULL)
        congestion->type->view(congestion, &view);
    return view;
}

bool node_probe_view(const struct node *node, uint32_t index, struct node_probe_view *view)
{
    if (index >= node->peer_count)
        return false;
    const struct probe_result *result = prober_result(node, (uint16_t)index);
    *view = (struct node_probe_view){.estimate = result->estimate,
                                     .known_ns = result->known_ns,
                                     .count = result->count,
                                     .measuring = prober_is_busy(node, (uint16_t)index)};
    name_copy(view->peer, sizeof(view->peer), node->config.peers[index].name);
    return true;
}

bool node_all_view(const struct node *node, struct node_all_view *view)
{
    const struct all *all = node->all;
    if (all->state < ALL_RUNNING)
        return false;
    struct survey_progress progress = survey_progress(&all->survey, node->now_ns);
    *view = (struct node_all_view){.running = all->state == ALL_RUNNING,
                                   .stopped = all->stopped,
                                   .pairs = progress.pairs,
                                   .known = progress.known,
                                   .refused = progress.refused,
                                   .asked = progress.rotation.sent,
                                   .trains = progress.trains,
                                   .bytes = progress.bytes,
                                   .took_ns = progress.took_ns};
    return true;
}

bool node_edge_view(const struct node *node, uint32_t index, struct node_edge_view *view)
{
    if (index >= node->peer_count)
        return false;
    const struct peer *peer = &node->peers[index];
    const struct flow *flow = &node->flows[index];
    const struct sender_counters *sent = &peer->sender.counters;
    uint64_t running_ns = running_ns_of_edge(node, peer);
    *view = (struct node_edge_view){
        .sent_packets = sent->sent_packets,
        .sent_bytes = sent->sent_bytes,
        .acked_packets = sent->acked_packets,
        .lost_packets = sent->lost_packets,
        .repairs = sent->repairs,
        .spurious_repairs = sent->spurious_repairs,
        .received_packets = peer->receiver.counters.packets,
        .received_bytes = peer->receiver.counters.bytes,
        .duplicates = peer->receiver.counters.duplicates,
        .feedback_bytes = flow->feedback_bytes,
        .goodput_bps = running_ns == 0 ? 0 : muldiv64(flow->acked_payload_bytes * 8, NS_PER_S, running_ns),
        .rate_bps = sender_rate_bps(&peer->sender),
        .rtt_smoothed_ns = peer->sender.rtt.smoothed_ns,
        .rtt_min_ns = peer->sender.rtt.sampled ? rtt_min_ns(&peer->sender.rtt) : peer->rtt_min_ns,
        .in_flight_packets = peer->sender.in_flight_packets,
        .limited_by = (uint8_t)causes_dominant(&flow->causes, node->now_ns),
        .limited_now = (uint8_t)causes_recent(&flow->causes, node->now_ns),
        .congestion = peer->sender.congestion.type->name,
        .path = path_of(&peer->sender.congestion),
        .ring_lost = sent->ring_lost,
        .peer_missed_frames = sent->peer_missed,
        .missed_frames = node->ports[peer->port].missed_frames,
        .marked_packets = sent->marked_packets,
        .pauses = sent->pauses,
        .paused_ns = sent->paused_ns,
        .peer_pauses = sent->peer_pauses,
        .clock_steps = sent->clock_steps,
        .clock_doubt_ns = two_clocks_doubt_ns(&peer->sender.clocks),
        .stuck_ns = peer->sender.liveness.sums.stuck_ns,
        .most_bps = liveness_most(&peer->sender.liveness).bps,
        .up = peer->state == PEER_UP,
        .idle = peer->jobs_out == 0,
    };
    name_copy(view->peer, sizeof(view->peer), peer->config->name);
    for (unsigned cause = 0; cause < EDGE_LIMIT_COUNT; cause++)
        view->limited_ppm[cause] = causes_share_ppm(&flow->causes, (enum edge_limit)cause, node->now_ns);
    return true;
}

bool node_edge_pulse(const struct node *node, uint32_t index, uint64_t now_ns, struct node_edge_pulse *pulse)
{
    if (index >= node->peer_count)
        return false;
    const struct sender *sender = &node->peers[index].sender;
    const struct causes *causes = &node->flows[index].causes;
    struct congestion_view path = path_of(&sender->congestion);
    *pulse = (struct node_edge_pulse){
        .began_ns = sender->began_ns,
        .congested_ns = causes_total_ns(causes, EDGE_LIMIT_congestion, now_ns),
        .cpu_ns = causes_total_ns(causes, EDGE_LIMIT_cpu, now_ns),
        .marked_packets = sender->counters.marked_packets,
        .silences = sender->counters.silences,
        .rtt_ns = sender->rtt.smoothed_ns,
        .rate_bps = sender_rate_bps(sender),
        .target_ns = path.target_ns,
        .duty = path.duty,
        .silent = sender->silent,
    };
    return true;
}
