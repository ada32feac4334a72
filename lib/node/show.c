/* What a node tells operators of itself: one description serves text and JSON. */
#include <stdio.h>
#include <string.h>

#include "node/flow/flow.h"
#include "node/node.h"
#include "node/role/manifest.h"
#include "node/top.h"
#include "node/train/prober.h"
#include "plan/words.h"

#define DRAWING_BYTES 32768 /* the deepest tree takes 27 KB; several of 64 nodes usually less */

/* Programs get all of it and times of the node's clock; people lines that fit into a table and durations. */
static bool wants_all(const struct report *report)
{
    return report->form == REPORT_JSON;
}

static void show_peers(const struct node *node, struct report *report)
{
    char namesake[CONTROL_TEXT_BYTES];
    misfit_namesake(node, namesake, sizeof(namesake));
    if (namesake[0] != '\0' || wants_all(report))
        report_text(report, "namesake", namesake);
    report_table(report, "peers");
    for (uint16_t index = 0; index < node->peer_count; index++) {
        const struct peer *peer = &node->peers[index];
        char address[ADDRESS_TEXT_BYTES], misfit[CONTROL_TEXT_BYTES];
        address_format(&peer->config->address, address);
        misfit_text(node, peer, misfit, sizeof(misfit));
        report_row(report);
        report_text(report, "name", peer->config->name);
        report_text(report, "address", address);
        report_text(report, "state", peer->state == PEER_UP ? "up" : "down");
        report_fixed(report, "rtt_ms", peer->rtt_min_ns / NS_PER_US, 3);
        report_u64(report, "path_mtu", peer->mtu.mtu);
        report_fixed(report, "heard_s",
                     peer->heard_ns == 0 ? 0 : elapsed_ns(core_lived_ns(node), peer->heard_ns) / NS_PER_MS,
                     3);
        report_u64(report, "messages_sent", peer->mail.counters.sent);
        report_u64(report, "messages_resent", peer->mail.counters.resent);
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
        report_u64(report, "capacity_bps", view.path.capacity_bps);
        report_fixed(report, "queue_ms", view.path.queue_ns / NS_PER_US, 3);
        report_fixed(report, "target_ms", view.path.target_ns / NS_PER_US, 3);
        report_fixed(report, "jitter_ms", view.path.jitter_ns / NS_PER_US, 3);
        report_u64(report, "marked", view.marked_packets);
        report_u64(report, "pauses", view.pauses);
        report_fixed(report, "paused_ms", view.paused_ns / NS_PER_US, 3);
        report_u64(report, "peer_pauses", view.peer_pauses);
        report_u64(report, "clock_steps", view.clock_steps);
        report_fixed(report, "doubt_ms", view.clock_doubt_ns / NS_PER_US, 3);
        if (wants_all(report))
            report_fixed(report, "competitive_s", view.path.competitive_ns / NS_PER_US, 6);
        if (wants_all(report))
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
        report_u64(report, "rate_bps", view.rate_bps);
        report_u64(report, "goodput_bps", view.goodput_bps);
        report_fixed(report, "srtt_ms", view.rtt_smoothed_ns / NS_PER_US, 3);
        report_fixed(report, "rtt_min_ms", view.rtt_min_ns / NS_PER_US, 3);
        report_u64(report, "avail_bps", prober_result(node, (uint16_t)index)->estimate.avail_bps);
        report_u64(report, "sent_packets", view.sent_packets);
        report_u64(report, "lost_packets", view.lost_packets);
        report_u64(report, "ring_lost", view.ring_lost);
        report_u64(report, "peer_missed_frames", view.peer_missed_frames);
        report_u64(report, "repairs", view.repairs);
        if (wants_all(report))
            report_u64(report, "spurious_repairs", view.spurious_repairs);
        if (wants_all(report))
            report_u64(report, "in_flight_packets", view.in_flight_packets);
        report_u64(report, "received_packets", view.received_packets);
        report_u64(report, "duplicates", view.duplicates);
        report_u64(report, "missed_frames", view.missed_frames);
        if (wants_all(report))
            report_u64(report, "feedback_bytes", view.feedback_bytes);
        report_fixed(report, "stuck_ms", view.stuck_ns / NS_PER_US, 3);
        if (wants_all(report))
            report_u64(report, "most_bps", view.most_bps);
        report_text(report, "limited_by", edge_limit_name(view.limited_by));
        if (wants_all(report))
            report_text(report, "limited_now", edge_limit_name(view.limited_now));
        if (wants_all(report))
            report_limited_share(report, &view);
        report_row_end(report);
    }
    report_table_end(report);
    show_paths(node, report);
    show_limits(node, report);
}

/* 0 while one of the two has not happened. */
static uint64_t since_ms(uint64_t begin_ns, uint64_t end_ns)
{
    return begin_ns == 0 || end_ns == 0 ? 0 : elapsed_ns(end_ns, begin_ns) / NS_PER_MS;
}

static void report_times(struct report *report, const struct node_job_view *view, uint64_t now_ns)
{
    if (wants_all(report)) {
        report_u64(report, "created_ns", view->created_ns);
        report_u64(report, "running_ns", view->running_ns);
        report_u64(report, "first_data_ns", view->first_data_ns);
        report_u64(report, "ended_ns", view->ended_ns);
        report_u64(report, "now_ns", now_ns);
        return;
    }
    report_fixed(report, "age_s", since_ms(view->created_ns, now_ns), 3);
    report_fixed(report, "running_s",
                 since_ms(view->running_ns, view->ended_ns == 0 ? now_ns : view->ended_ns), 3);
}

static void report_sites(struct report *report, const struct node_job_view *view)
{
    report_table(report, "sites");
    for (uint16_t index = 0; index < view->site_count; index++) {
        const struct node_site_view *site = &view->sites[index];
        report_row(report);
        report_text(report, "name", site->name);
        report_text(report, "state", site_state_name(site->state));
        report_u64(report, "received_bytes", site->received_bytes);
        report_u64(report, "verified_bytes", site->verified_bytes);
        report_text(report, "limited_from", site->limited_from);
        report_text(report, "limited_to", site->limited_to);
        report_text(report, "limited_by", edge_limit_name(site->limited_by));
        if (wants_all(report)) {
            report_text(report, "held_by", site->held_by);
            report_u64(report, "limited_rate_bps", site->limited_rate_bps);
        }
        if (wants_all(report))
            report_u64(report, "complete_ns", site->complete_ns);
        else
            report_fixed(report, "complete_s", since_ms(view->running_ns, site->complete_ns), 3);
        report_text(report, "text", site->text);
        report_row_end(report);
    }
    report_table_end(report);
}

static void report_tree(struct report *report, const struct node_job_view *view, bool with_edges)
{
    static const char more[] = "\n\nthere is more than fits here: show plan --svg";
    char text[DRAWING_BYTES + sizeof(more)], known[PLAN_KNOWN_TOTAL_BYTES];
    if (!plan_draw_trees(view->plan, view->request, text, DRAWING_BYTES))
        strcat(text, more);
    report_text(report, "tree", text);
    report_object(report, "plan");
    report_u64(report, "epoch", view->plan->epoch);
    report_u64(report, "trees", view->plan->tree_count);
    report_u64(report, "rate_bps", view->plan->rate_bps);
    report_u64(report, "common_rate_bps", plan_common_bps(view->plan));
    report_u64(report, "bound_bps", view->plan->bound_bps);
    report_u64(report, "delay_us", view->plan->delay_us);
    report_text(report, "known", plan_known_total(view->plan, known, sizeof(known)) ? known : "");
    if (wants_all(report) && with_edges)
        show_plan_edges(report, view->plan, view->request);
    report_object_end(report);
}

/* When the newest job of that name began here; 0: none has, or there is no name. */
static uint64_t newest_ns(const struct node *node, const char *name)
{
    struct node_job_view view;
    uint64_t newest = 0;
    for (uint32_t index = 0; node_job_view(node, index, &view); index++)
        if (view.source && strcmp(name, view.name) == 0)
            newest = MAX(newest, view.created_ns);
    return newest;
}

/* `only`: the jobs of that name, "": all. Those that began before `since_ns` are left out. */
static void show_jobs(const struct node *node, struct report *report, const char *only, uint64_t since_ns,
                      bool with_sites, uint64_t now_ns)
{
    struct node_job_view view; /* large, one at a time */
    report_table(report, "jobs");
    for (uint32_t index = 0; node_job_view(node, index, &view); index++) {
        if ((only[0] != '\0' && strcmp(only, view.name) != 0) || view.created_ns < since_ns)
            continue;
        report_row(report);
        report_text(report, "name", view.name);
        bool paused = view.controls.paused && view.state == JOB_RUNNING;
        report_text(report, "state", paused ? "paused" : job_state_name(view.state));
        report_text(report, "text", view.text);
        if (wants_all(report))
            report_text(report, "note", view.note);
        report_bool(report, "source", view.source);
        report_u64(report, "size_bytes", view.size_bytes);
        report_bool(report, "paused", view.controls.paused);
        report_u64(report, "rate_cap_bps", view.controls.rate_cap_bps);
        report_u64(report, "priority", view.controls.priority);
        report_u64(report, "dscp", view.controls.dscp);
        report_times(report, &view, now_ns);
        if (view.source) {
            report_tree(report, &view, !with_sites);
            if (with_sites)
                report_sites(report, &view);
        }
        report_row_end(report);
    }
    report_table_end(report);
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
    const char *only = msg->body.show.job;
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
        show_jobs(node, &report, only, newest_ns(node, only), true, now_ns);
        break;
    case CTL_SHOW_plan:
        report_bool(&report, "planner_attached", node->planner_attached);
        show_jobs(node, &report, only, newest_ns(node, only), false, now_ns);
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
