/* What a node tells operators of itself: one description serves text and JSON. */
#include <stdio.h>
#include <string.h>

#include "node/flow/flow.h"
#include "node/node.h"
#include "node/role/manifest.h"
#include "node/top.h"
#include "node/train/prober.h"

/* A number of which 0 means that nothing is known. */
static void report_known_ms(struct report *report, const char *name, uint64_t value_ns)
{
    if (value_ns == 0)
        report_word(report, name, "-");
    else
        report_fixed(report, name, value_ns / NS_PER_US, 3);
}

static void report_known_bps(struct report *report, const char *name, uint64_t value_bps, const char *unknown)
{
    if (value_bps == 0)
        report_word(report, name, unknown);
    else
        report_u64(report, name, value_bps);
}

/* Whether the peer's names and keys of all sites are this node's. */
static const char *roster_word(const struct node *node, const struct peer *peer)
{
    const struct session *session = &peer->sessions.used[peer->sessions.current];
    uint64_t own = node->config.roster, told = session->in != 0 ? session->greeting.roster : 0;
    if (own == 0 || told == 0)
        return "";
    return own == told ? "same" : "differs";
}

static void show_peers(const struct node *node, struct report *report)
{
    char namesake[CONTROL_TEXT_BYTES];
    misfit_namesake(node, namesake, sizeof(namesake));
    if (namesake[0] != '\0' || show_wants_all(report))
        report_text(report, "namesake", namesake);
    report_table(report, "peers");
    for (uint16_t index = 0; index < node->peer_count; index++) {
        const struct peer *peer = &node->peers[index];
        char address[ADDRESS_TEXT_BYTES], misfit[CONTROL_TEXT_BYTES];
        address_format(&peer->config->address, address);
        if (misfit_text(node, peer, misfit, sizeof(misfit)) == 0)
            misfit_silence(node, peer, misfit, sizeof(misfit));
        report_row(report);
        report_text(report, "name", peer->config->name);
        report_text(report, "address", address);
        report_text(report, "state", peer->state == PEER_UP ? "up" : "down");
        report_known_ms(report, "rtt_ms", peer->rtt_min_ns);
        report_u64(report, "path_mtu", peer->mtu.mtu);
        report_fixed(report, "heard_s",
                     peer->heard_ns == 0 ? 0 : elapsed_ns(core_lived_ns(node), peer->heard_ns) / NS_PER_MS,
                     3);
        report_u64(report, "messages_sent", peer->mail.counters.sent);
        report_u64(report, "messages_resent", peer->mail.counters.resent);
        report_text(report, "roster", roster_word(node, peer));
        report_text(report, "misfit", misfit);
        report_row_end(report);
    }
    report_table_end(report);
}

static void report_limited_share(struct report *report, const struct node_edge_view *view)
{
    report_object(report, "limited_share");
    for (unsigned cause = EDGE_LIMIT_none + 1; cause < EDGE_LIMIT_COUNT; cause++)
        if (view->limited_ppm[cause] != 0)
            report_fixed(report, edge_limit_name(cause), view->limited_ppm[cause], 6);
    report_object_end(report);
}

/* Of the jobs that begin here: which edge limits each site, wherever that edge is. */
static void show_limits(const struct node *node, struct report *report)
{
    struct node_job_view view; /* large, one at a time */
    report_table(report, "sites");
    for (uint32_t index = 0; node_job_view(node, index, &view); index++) {
        for (uint16_t number = 0; number < view.site_count; number++) {
            const struct node_site_view *site = &view.sites[number];
            report_row(report);
            report_text(report, "job", view.name);
            report_text(report, "site", site->name);
            report_text(report, "state", site_state_name(site->state));
            report_text(report, "limited_from", site->limited_from);
            report_text(report, "limited_to", site->limited_to);
            report_text(report, "limited_by", edge_limit_name(site->limited_by));
            report_text(report, "held_by", site->held_by);
            report_u64(report, "limited_rate_bps", site->limited_rate_bps);
            report_row_end(report);
        }
    }
    report_table_end(report);
}

/* What edges make of their paths, and what of the hosts at both ends they saw. */
static void show_paths(const struct node *node, struct report *report)
{
    struct node_edge_view view;
    report_table(report, "paths");
    for (uint32_t index = 0; node_edge_view(node, index, &view); index++) {
        if (view.sent_packets == 0)
            continue;
        report_row(report);
        report_text(report, "to", view.peer);
        report_text(report, "strategy", view.congestion);
        report_text(report, "phase", view.path.phase);
        report_known_bps(report, "capacity_bps", view.path.capacity_bps, "-");
        report_fixed(report, "queue_ms", view.path.queue_ns / NS_PER_US, 3);
        report_fixed(report, "target_ms", view.path.target_ns / NS_PER_US, 3);
        report_fixed(report, "jitter_ms", view.path.jitter_ns / NS_PER_US, 3);
        report_u64(report, "marked", view.marked_packets);
        report_u64(report, "pauses", view.pauses);
        report_fixed(report, "paused_ms", view.paused_ns / NS_PER_US, 3);
        report_u64(report, "peer_pauses", view.peer_pauses);
        report_u64(report, "clock_steps", view.clock_steps);
        report_fixed(report, "doubt_ms", view.clock_doubt_ns / NS_PER_US, 3);
        if (show_wants_all(report))
            report_fixed(report, "competitive_s", view.path.competitive_ns / NS_PER_US, 6);
        if (show_wants_all(report))
            report_fixed(report, "chance_loss", view.path.base_loss_ppm, 6);
        report_row_end(report);
    }
    report_table_end(report);
}

static void show_edges(const struct node *node, struct report *report)
{
    report_table(report, "edges");
    for (uint32_t index = 0; index < node->peer_count; index++) {
        struct node_edge_view view;
        node_edge_view(node, index, &view);
        report_row(report);
        report_text(report, "to", view.peer);
        report_bool(report, "up", view.up);
        report_known_bps(report, "rate_bps", view.idle ? 0 : view.rate_bps, "idle");
        report_u64(report, "goodput_bps", view.goodput_bps);
        bool measured =
            view.rtt_min_ns != 0 || view.acked_packets != 0; /* else it is what edges begin with */
        report_known_ms(report, "srtt_ms", measured ? view.rtt_smoothed_ns : 0);
        report_known_ms(report, "rtt_min_ms", view.rtt_min_ns);
        report_known_bps(report, "avail_bps", prober_result(node, (uint16_t)index)->estimate.avail_bps, "-");
        report_u64(report, "sent_packets", view.sent_packets);
        report_u64(report, "lost_packets", view.lost_packets);
        report_u64(report, "ring_lost", view.ring_lost);
        report_u64(report, "peer_missed_frames", view.peer_missed_frames);
        report_u64(report, "repairs", view.repairs);
        if (show_wants_all(report))
            report_u64(report, "spurious_repairs", view.spurious_repairs);
        if (show_wants_all(report))
            report_u64(report, "in_flight_packets", view.in_flight_packets);
        report_u64(report, "received_packets", view.received_packets);
        report_u64(report, "duplicates", view.duplicates);
        report_u64(report, "missed_frames", view.missed_frames);
        if (show_wants_all(report))
            report_u64(report, "feedback_bytes", view.feedback_bytes);
        report_fixed(report, "stuck_ms", view.stuck_ns / NS_PER_US, 3);
        if (show_wants_all(report))
            report_u64(report, "most_bps", view.most_bps);
        report_text(report, "limited_by", edge_limit_name(view.limited_by));
        if (show_wants_all(report))
            report_text(report, "limited_now", edge_limit_name(view.limited_now));
        if (show_wants_all(report))
            report_limited_share(report, &view);
        report_row_end(report);
    }
    report_table_end(report);
    show_paths(node, report);
    show_limits(node, report);
}

static void show_counters(const struct node *node, struct report *report)
{
    report_object(report, "counters");
    uint64_t value;
    const char *name;
    for (uint32_t index = 0; (name = node_counter(node, index, &value)) != NULL; index++)
        report_u64(report, name, value);
    report_object_end(report);
}

bool show_answer(const struct node *node, const struct ctl_msg *msg, struct ctl_reply *reply, uint64_t now_ns)
{
    struct report report;
    report_begin(&report, msg->body.show.form, reply->text, reply->room);
    switch (msg->body.show.what) {
    case CTL_SHOW_peers:
        show_peers(node, &report);
        break;
    case CTL_SHOW_edges:
        show_edges(node, &report);
        break;
    case CTL_SHOW_probes:
        show_probes(node, &report, now_ns);
        break;
    case CTL_SHOW_jobs:
        if (!show_jobs(node, &report, msg->body.show.job, now_ns))
            return err_set(&reply->err, "no job '%s' is known here", msg->body.show.job);
        break;
    case CTL_SHOW_plan:
        report_bool(&report, "planner_attached", node->planner_attached);
        if (!show_plans(node, &report, msg->body.show.job, now_ns))
            return err_set(&reply->err, "no job '%s' is known here", msg->body.show.job);
        break;
    case CTL_SHOW_manifest:
        if (!manifest_show(node, msg->body.show.job, &report))
            return err_set(&reply->err, "no job '%s' has its source here", msg->body.show.job);
        break;
    case CTL_SHOW_counters:
        show_counters(node, &report);
        break;
    case CTL_SHOW_why:
    case CTL_SHOW_dot:
    case CTL_SHOW_svg:
        return show_plan_of(node, msg, reply);
        CTL_CASES_OF_PROGRAM
    case CTL_SHOW_COUNT:
        return err_set(&reply->err, "'show %s' is answered by the program, not by the node",
                       ctl_show_name(msg->body.show.what));
    }
    if (!report_end(&report))
        return err_set(&reply->err, "the answer is longer than %zu bytes", reply->room);
    reply->length = report.length;
    return true;
}
