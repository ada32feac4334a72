#include "events.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dpdk/port.h"

static void event_add(struct events *events, enum event_kind kind, uint8_t state, const char *name,
                      const char *text)
{
    if (events->tail - __atomic_load_n(&events->head, __ATOMIC_ACQUIRE) == EVENTS_PLACES) {
        count_add(&events->missed, 1);
        return;
    }
    struct event *event = &events->places[events->tail % EVENTS_PLACES];
    *event = (struct event){.kind = kind, .state = state};
    name_copy(event->name, sizeof(event->name), name);
    name_copy(event->text, sizeof(event->text), text);
    __atomic_store_n(&events->tail, events->tail + 1, __ATOMIC_RELEASE);
}

/* What does not fit comes with every hello: it is said at once, and then ever more rarely. */
static void scan_misfit(struct events *events, const struct node *node, uint32_t index, const char *peer,
                        uint64_t now_ns)
{
    char text[CONTROL_TEXT_BYTES];
    node_peer_misfit(node, index, text, sizeof(text));
    if (text[0] == '\0')
        gaps_end(&events->misfits[index]);
    else if (gaps_say(&events->misfits[index], now_ns))
        event_add(events, EVENT_MISFIT, 0, peer, text);
}

static void scan_peers(struct events *events, const struct node *node, uint64_t now_ns)
{
    struct node_edge_view view;
    for (uint32_t index = 0; index < NODE_PEERS_MAX && node_edge_view(node, index, &view); index++) {
        if (view.up != events->peer_up[index]) {
            events->peer_up[index] = view.up;
            event_add(events, EVENT_PEER, view.up, view.peer, "");
        }
        scan_misfit(events, node, index, view.peer, now_ns);
    }
}

static void scan_links(struct events *events, const struct port *ports, uint16_t port_count)
{
    for (uint16_t index = 0; index < port_count; index++)
        if (port_link_up(&ports[index]) != events->link_up[index]) {
            events->link_up[index] = port_link_up(&ports[index]);
            event_add(events, EVENT_LINK, events->link_up[index], ports[index].device.name, "");
        }
}

/* One job per scan: its view is some 60 KB. */
static void scan_job(struct events *events, const struct node *node)
{
    uint32_t index = events->job_index++ % NODE_JOBS_MAX;
    struct node_job_view *view = &events->job_view;
    if (index >= node_job_count(node) || !node_job_view(node, index, view)) {
        events->job_index = 0;
        return;
    }
    bool same = events->jobs[index].id == view->id && events->jobs[index].state == view->state;
    uint16_t note_bytes = (uint16_t)strlen(view->note);
    bool noted = same && note_bytes > events->jobs[index].note_bytes; /* what came after the job's end */
    if (same && !noted)
        return;
    events->jobs[index].id = view->id;
    events->jobs[index].state = view->state;
    events->jobs[index].note_bytes = note_bytes;
    bool note = noted || (view->state == JOB_RUNNING && view->text[0] == '\0');
    event_add(events, EVENT_JOB, view->state, view->name, note ? view->note : view->text);
}

void events_scan(struct events *events, const struct node *node, const struct port *ports,
                 uint16_t port_count, uint64_t now_ns)
{
    if (now_ns < events->scan_ns)
        return;
    events->scan_ns = now_ns + EVENTS_SCAN_NS;
    scan_links(events, ports, port_count);
    scan_peers(events, node, now_ns);
    scan_job(events, node);
}

static void event_print(const struct event *event, const char *node_name)
{
    char clock[32];
    time_t now = time(NULL);
    struct tm parts;
    strftime(clock, sizeof(clock), "%F %T", localtime_r(&now, &parts));
    switch ((enum event_kind)event->kind) {
    case EVENT_PEER:
        fprintf(stderr, "%s %s: peer %s is %s\n", clock, node_name, event->name,
                event->state ? "up" : "down");
        break;
    case EVENT_MISFIT:
        fprintf(stderr, "%s %s: peer %s does not fit: %s\n", clock, node_name, event->name, event->text);
        break;
    case EVENT_LINK:
        fprintf(stderr, "%s %s: link of %s is %s\n", clock, node_name, event->name,
                event->state ? "up" : "down");
        break;
    case EVENT_JOB:
        fprintf(stderr, "%s %s: job %s is %s%s%s\n", clock, node_name, event->name,
                job_state_name(event->state), event->text[0] != '\0' ? ": " : "", event->text);
        break;
    }
}

void events_print(struct events *events, const char *node_name, uint64_t now_ns)
{
    if (elapsed_ns(now_ns, events->second_ns) >= NS_PER_S) {
        if (events->suppressed > 0)
            fprintf(stderr, "%s: %u more events were not logged\n", node_name, events->suppressed);
        events->second_ns = now_ns;
        events->printed = events->suppressed = 0;
    }
    while (events->head != __atomic_load_n(&events->tail, __ATOMIC_ACQUIRE)) {
        if (events->printed++ < EVENTS_PER_S)
            event_print(&events->places[events->head % EVENTS_PLACES], node_name);
        else
            events->suppressed++;
        __atomic_store_n(&events->head, events->head + 1, __ATOMIC_RELEASE);
    }
}
