#include "dump.h"

#include <inttypes.h>

#include "seal/key_text.h"

#define U64(value) (unsigned long long)(value)

static void dump_address(FILE *out, const char *name, const struct net_address *address)
{
    char text[ADDRESS_TEXT_BYTES] = "none";
    if (address->family != ADDRESS_NONE)
        address_format(address, text);
    fprintf(out, " %s=%s", name, text);
}

static void dump_keys(FILE *out, const struct app_keys *keys)
{
    for (unsigned index = 0; index < keys->count; index++) {
        char text[KEY_TEXT_BYTES];
        key_text_public(text, keys->keys[index]);
        fprintf(out, " %s", text);
    }
    fprintf(out, "\n");
}

static void dump_port(FILE *out, const struct node_port_config *port, const struct app_port_config *app)
{
    fprintf(out, "port device=%s", app->device);
    dump_address(out, "address", &port->address);
    fprintf(out, "/%u", app->prefix_length);
    dump_address(out, "gateway", &app->gateway);
    fprintf(out, " static_mac=%d mac=", app->static_mac);
    for (unsigned index = 0; index < MAC_BYTES; index++)
        fprintf(out, "%02x", app->gateway_mac[index]);
    fprintf(out, " vlan=%u mtu=%u frame=%u up=%llu down=%llu worker=%u\n", app->vlan, port->mtu,
            app->frame_bytes_max, U64(port->rate_bps), U64(port->down_bps), app->worker);
}

static void dump_directory(FILE *out, const struct node_directory *directory)
{
    fprintf(out, "directory %s path=%s accept=%d%d%d any=%d sources=", directory->name, directory->path,
            directory->accept.owner, directory->accept.set_id, directory->accept.xattrs,
            directory->any_source);
    for (unsigned index = 0; index < directory->source_count; index++)
        fprintf(out, "%s,", directory->sources[index]);
    fprintf(out, "\n");
}

void dump_node(FILE *out, const struct app_config *config)
{
    const struct node_config *node = &config->node;
    fprintf(out, "node %s store=%u seed=%llu incarnation=%llu\n", node->name, node->store, U64(node->seed),
            U64(node->incarnation));
    fprintf(out, "key_file=%s insecure=%u port=%u keys", config->key_file, config->insecure,
            config->own_port);
    dump_keys(out, &config->own_keys);
    for (unsigned index = 0; index < node->port_count; index++)
        dump_port(out, &node->ports[index], &config->ports[index]);
    for (unsigned index = 0; index < node->peer_count; index++) {
        fprintf(out, "peer %s", node->peers[index].name);
        dump_address(out, "address", &node->peers[index].address);
        fprintf(out, " port=%u window=%u keys", node->peers[index].port, node->peers[index].window_packets);
        dump_keys(out, &config->peer_keys[index]);
    }
    for (unsigned index = 0; index < node->directory_count; index++)
        dump_directory(out, &node->directories[index]);
    fprintf(out, "relay_for some=%d names=", node->relay_for_some);
    for (unsigned index = 0; index < node->relay_for_count; index++)
        fprintf(out, "%s,", node->relay_for[index]);
    fprintf(out, "\n");
    fprintf(out, "memory buffer=%llu blocks_max=%llu dpdk=%llu hugepages=%d\n", U64(node->buffer_bytes),
            U64(node->blocks_max), U64(config->memory_bytes), config->hugepages);
    fprintf(
        out,
        "timeouts rtt_max=%llu hello=%llu measure=%llu plan=%llu distribute=%llu stall=%llu finish=%llu\n",
        U64(node->rtt_max_ns), U64(node->hello_interval_ns), U64(node->measure_timeout_ns),
        U64(node->plan_timeout_ns), U64(node->distribute_timeout_ns), U64(node->stall_timeout_ns),
        U64(node->finish_timeout_ns));
    fprintf(out, "plan avb=%s distance=%s leaf=%d packets_ps=%llu\n", config->avb_file, config->distance_file,
            node->leaf, U64(node->packets_ps));
    for (unsigned index = 0; index < config->outgoing_count; index++) {
        fprintf(out, "outgoing %s users=", config->outgoing[index].path);
        for (unsigned user = 0; user < config->outgoing[index].user_count; user++)
            fprintf(out, "%s,", config->outgoing[index].users[user]);
        fprintf(out, "\n");
    }
    for (unsigned index = 0; index < config->lcore_count; index++)
        fprintf(out, "lcore %u\n", config->lcores[index]);
    for (unsigned index = 0; index < config->eal_option_count; index++)
        fprintf(out, "eal %s\n", config->eal_options[index]);
    fprintf(out, "manifests=%s\n", node->manifests);
    fprintf(out, "planner=%u user=%s\n", config->planner, config->planner_user);
    fprintf(out, "idle=%u socket=%s ring=%s disk_threads=%u disk_index=%llu disk_cpus=", config->idle,
            config->control_socket, config->control_ring, config->disk_threads,
            U64(config->disk_index_bytes));
    for (unsigned index = 0; index < config->disk_cpu_count; index++)
        fprintf(out, "%u,", config->disk_cpus[index]);
    fprintf(out, "\n");
}

static void dump_wishes(FILE *out, const struct job_spec *spec)
{
    fprintf(out, "  dcmst=%u:%u ties=%d:%llu relays=%u:", spec->dcmst_of, spec->degree, spec->ties.random,
            U64(spec->ties.seed), spec->relays);
    for (unsigned index = 0; index < spec->relay_count; index++)
        fprintf(out, "%s,", spec->relay_names[index]);
    fprintf(out, " leaves=");
    for (unsigned index = 0; index < spec->leaf_count; index++)
        fprintf(out, "%s,", spec->leaves[index]);
    fprintf(out, " rules=");
    for (unsigned index = 0; index < spec->rule_count; index++)
        fprintf(out, "%u:%s>%s,", spec->rules[index].rule, spec->rules[index].edge[0],
                spec->rules[index].edge[1]);
    fprintf(out, "\n");
}

void dump_job(FILE *out, const struct job_spec *spec)
{
    fprintf(out, "job %s source=%s to_all=%d to=", spec->name, spec->source, spec->to_all);
    for (unsigned index = 0; index < spec->receiver_count; index++)
        fprintf(out, "%s,", spec->receivers[index]);
    fprintf(out, " file=%s directory=%s target=%s\n", spec->file, spec->directory, spec->target);
    fprintf(out,
            "  metric=%s trees=%u children_max=%u rate=%llu tree=", word_of(plan_metric_words, spec->metric),
            spec->trees, spec->children_max, U64(spec->plan_rate_bps));
    for (unsigned index = 0; index < spec->given_count; index++)
        fprintf(out, "%s>%s,", spec->given[index][0], spec->given[index][1]);
    fprintf(out, " hash=%u durable=%u exists=%u tree=%u congestion=%u measure=%llu\n", spec->hash,
            spec->durable, spec->exists, spec->tree_owner | spec->tree_xattrs | spec->tree_hardlinks,
            spec->congestion, U64(spec->measure_ns));
    dump_wishes(out, spec);
    fprintf(out, "  age=%llu cap=%llu priority=%u dscp=%u\n", U64(spec->measure_age_ns),
            U64(spec->controls.rate_cap_bps), spec->controls.priority, spec->controls.dscp);
}

static void dump_link(FILE *out, const struct netem_config *link)
{
    fprintf(out,
            " rate=%llu queue=%u:%llu delay=%llu jitter=%llu reorder=%d loss=%llu duplicate=%llu "
            "corrupt=%llu some=%llu:%llu mtu=%u\n",
            U64(link->rate_bps), link->queue_unit, U64(link->queue_limit), U64(link->delay_ns),
            U64(link->jitter_ns), link->reorder, U64(link->loss_ppb), U64(link->duplicate_ppb),
            U64(link->corrupt_ppb), U64(link->delay_some_ppb), U64(link->delay_some_ns), link->mtu);
    if (link->queue_min_packets != 0 || link->ecn_ns != 0 || link->policer_bps != 0 ||
        link->burst.enter_ppb != 0)
        fprintf(out, "       queue_min=%u ecn=%llu policer=%llu:%llu burst=%llu:%llu:%llu:%llu\n",
                link->queue_min_packets, U64(link->ecn_ns), U64(link->policer_bps),
                U64(link->policer_depth_bytes), U64(link->burst.enter_ppb), U64(link->burst.leave_ppb),
                U64(link->burst.loss_ppb), U64(link->burst.gap_loss_ppb));
    if (link->ecn_ramp_ns != 0 || link->ecn_field != 0)
        fprintf(out, "       ecn_ramp=%llu ecn_field=%u\n", U64(link->ecn_ramp_ns), link->ecn_field);
    if (link->background_bps != 0)
        fprintf(out, "       background=%llu\n", U64(link->background_bps));
    if (link->shaper_bps != 0)
        fprintf(out, "       shaper=%llu:%llu\n", U64(link->shaper_bps), U64(link->shaper_depth_bytes));
    for (unsigned index = 0; index < link->load_count; index++) {
        const struct netem_load *load = &link->loads[index];
        fprintf(
            out,
            "       cross kind=%u rate=%llu packet=%u:%d sources=%u on=%llu off=%llu alpha=%u seed=%llu\n",
            load->kind, U64(load->rate_bps), load->wire_bytes, load->trimodal, load->sources,
            U64(load->on_ns), U64(load->off_ns), load->alpha_milli, U64(load->seed));
    }
}

static void dump_cross(FILE *out, const struct scenario_cross *cross)
{
    fprintf(out, "cross %u>%u kind=%u rate=%llu start=%llu stop=%llu packet=%u count=%u seed=%llu",
            cross->from, cross->to, cross->kind, U64(cross->rate_bps), U64(cross->start_ns),
            U64(cross->stop_ns), cross->packet_bytes, cross->count, U64(cross->seed));
    fprintf(out, " on=%llu off=%llu fixed=%d ecn=%d\n", U64(cross->on_ns), U64(cross->off_ns),
            cross->fixed_times, cross->ecn);
}

static void dump_shared(FILE *out, const struct scenario *scenario, const struct scenario_shared *shared)
{
    fprintf(out, "shared %s", shared->name);
    for (unsigned from = 0; from < scenario->node_count; from++)
        for (unsigned to = 0; to < scenario->node_count; to++)
            if (shared->members[from] >> to & 1)
                fprintf(out, " %u>%u", from, to);
    dump_link(out, &shared->link);
}

static void dump_scenario_node(FILE *out, const struct scenario_node *node)
{
    fprintf(out,
            "node %s offset=%lld skew=%lld none=%d leaf=%d packets_ps=%llu mtu=%u buffer=%llu disk=%llu:%llu "
            "absent=%d\n",
            node->name, (long long)node->clock_offset_ns, (long long)node->clock_skew_ppb, node->store_none,
            node->leaf, U64(node->packets_ps), node->mtu, U64(node->buffer_bytes), U64(node->disk_rate_bps),
            U64(node->disk_free_bytes), node->absent);
    if (!netem_stamping_exact(&node->stamping))
        fprintf(out, "  stamps batch=%u:%llu noise=%llu granularity=%llu\n", node->stamping.batch,
                U64(node->stamping.batch_ns), U64(node->stamping.noise_ns),
                U64(node->stamping.granularity_ns));
    if (node->stall.every_ns != 0 || node->turn_ns != 0 || node->ring_bytes != 0 || node->ring_packets != 0)
        fprintf(out, "  stall every=%llu for=%llu spread=%llu turn=%llu ring=%llu:%u device=%d\n",
                U64(node->stall.every_ns), U64(node->stall.for_ns), U64(node->stall.spread_ns),
                U64(node->turn_ns), U64(node->ring_bytes), node->ring_packets, node->stamped_by_device);
    fprintf(out, "  up  ");
    dump_link(out, &node->uplink);
    fprintf(out, "  down");
    dump_link(out, &node->downlink);
}

static void dump_fault(FILE *out, const struct scenario_fault *fault)
{
    fprintf(out, "fault at=%llu kind=%u node=%u link=%u>%u symmetric=%d holds=%d duration=%llu job=%s\n",
            U64(fault->at_ns), fault->kind, fault->node, fault->link_from, fault->link_to, fault->symmetric,
            fault->holds, U64(fault->duration_ns), fault->job);
    if (fault->shared != 0)
        fprintf(out, "  shared %u\n", fault->shared);
    if (fault->kind == FAULT_CLOCK)
        fprintf(out, "  clock step=%lld skewed=%d skew=%lld\n", (long long)fault->step_ns, fault->skewed,
                (long long)fault->skew_ppb);
    if (fault->changed != 0)
        fprintf(out, "  set changed=%u cap=%llu priority=%u dscp=%u paused=%d\n", fault->changed,
                U64(fault->controls.rate_cap_bps), fault->controls.priority, fault->controls.dscp,
                fault->controls.paused);
    if (fault->set_mask != 0) {
        fprintf(out, "  set mask=%u", fault->set_mask);
        dump_link(out, &fault->set);
    }
}

void dump_scenario(FILE *out, const struct scenario *scenario)
{
    fprintf(out, "scenario %s seed=%llu limit=%llu\n", scenario->name, U64(scenario->seed),
            U64(scenario->limit_ns));
    for (unsigned node = 0; node < scenario->node_count; node++)
        dump_scenario_node(out, &scenario->nodes[node]);
    for (unsigned from = 0; from < scenario->node_count; from++)
        for (unsigned to = 0; to < scenario->node_count; to++) {
            if (from == to)
                continue;
            fprintf(out, "link %u>%u", from, to);
            dump_link(out, &scenario->links[from][to]);
        }
    for (unsigned shared = 0; shared < scenario->shared_count; shared++)
        dump_shared(out, scenario, &scenario->shared[shared]);
    fprintf(out, "plan avb=%u", scenario->plan_avb);
    for (unsigned from = 0; from < scenario->node_count; from++)
        for (unsigned to = 0; to < scenario->node_count; to++)
            if (scenario->avb_kbps[from][to] != 0)
                fprintf(out, " %u>%u=%u", from, to, scenario->avb_kbps[from][to]);
    fprintf(out, " distance=%u", scenario->plan_distance);
    for (unsigned from = 0; from < scenario->node_count; from++)
        for (unsigned to = 0; to < scenario->node_count; to++)
            if (scenario->distance[from][to] != 0)
                fprintf(out, " %u>%u=%u", from, to, scenario->distance[from][to]);
    fprintf(out, "\n");
    for (unsigned cross = 0; cross < scenario->cross_count; cross++)
        dump_cross(out, &scenario->crosses[cross]);
    for (unsigned job = 0; job < scenario->job_count; job++) {
        dump_job(out, &scenario->jobs[job].spec);
        fprintf(out, "  size=%llu sparse=%d at=%llu\n", U64(scenario->jobs[job].size_bytes),
                scenario->jobs[job].sparse, U64(scenario->jobs[job].start_ns));
    }
    for (unsigned fault = 0; fault < scenario->fault_count; fault++)
        dump_fault(out, &scenario->faults[fault]);
    for (unsigned index = 0; index < scenario->expect_count; index++) {
        const struct scenario_expect *expect = &scenario->expects[index];
        fprintf(out, "expect line=%d %s compare=%u is_text=%d value=%llu text=%s\n", expect->line,
                expect->name, expect->compare, expect->is_text, U64(expect->value), expect->text);
    }
}

/* Beside its RTT, if there is anything. */
static void dump_path(FILE *out, unsigned to, const struct plan_path *path)
{
    if (path->loss_ppm != 0 || path->avb_kbps != 0 || path->distance != 0 || path->shared != 0 ||
        path->rule != 0)
        fprintf(out, "     to %u loss=%u avb=%u distance=%u shared=%x rule=%u\n", to, path->loss_ppm,
                path->avb_kbps, path->distance, path->shared, path->rule);
}

void dump_net(FILE *out, const struct plan_request *request)
{
    fprintf(out,
            "request job=%u epoch=%u source=%u metric=%s trees=%u children=%u size=%llu cap=%llu tree=%u:",
            request->job, request->epoch, request->source, word_of(plan_metric_words, request->metric),
            request->trees_max, request->children_max, U64(request->size_bytes), U64(request->rate_cap_bps),
            request->given.weight_ppm);
    for (unsigned edge = 0; edge < request->given.edge_count; edge++)
        fprintf(out, "%u>%u,", request->given.edges[edge].from, request->given.edges[edge].to);
    fprintf(out, " dcmst=%u:%u ties=%d:%llu\n", request->dcmst_of, request->degree, request->ties_random,
            U64(request->ties_seed));
    for (unsigned shared = 0; shared < request->shared_count; shared++)
        fprintf(out, "shared %s rate=%llu\n", request->shared[shared].name,
                U64(request->shared[shared].rate_bps));
    for (unsigned from = 0; from < request->node_count; from++) {
        const struct plan_node *node = &request->nodes[from];
        fprintf(out, "node %s up=%llu down=%llu receiver=%d rtt_us", node->name, U64(node->up_bps),
                U64(node->down_bps), node->receiver);
        for (unsigned to = 0; to < request->node_count; to++)
            fprintf(out, " %u", request->paths[from][to].rtt_us);
        fprintf(out, "\n");
        if (node->packets_ps != 0 || node->window_bytes != 0 || node->leaf)
            fprintf(out, "     packets=%llu window=%llu leaf=%d\n", U64(node->packets_ps),
                    U64(node->window_bytes), node->leaf);
        for (unsigned to = 0; to < request->node_count; to++)
            dump_path(out, to, &request->paths[from][to]);
    }
}
