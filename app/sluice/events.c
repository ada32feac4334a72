#include "events.h"

#include <stdio.h>
#include <string.h>

#include "app/log.h"
#include "dpdk/port.h"

#define EVENT_WORDS_BYTES 1024

/* The next place, to be published by event_tell; NULL: there is none. */
static struct event *event_place(struct events *events, enum event_kind kind, uint8_t state, const char *name,
                                 const char *text)
{
    if (events->tail - __atomic_load_n(&events->head, __ATOMIC_ACQUIRE) == EVENTS_PLACES) {
        count_add(&events->missed, 1);
        return NULL;
    }
    struct event *event = &events->places[events->tail % EVENTS_PLACES];
    *event = (struct event){.kind = kind, .state = state};
    name_copy(event->name, sizeof(event->name), name);
    name_copy(event->text, sizeof(event->text), text);
    return event;
}

static void event_tell(struct events *events)
{
    __atomic_store_n(&events->tail, events->tail + 1, __ATOMIC_RELEASE);
}

static void event_add(struct events *events, enum event_kind kind, uint8_t state, const char *name,
                      const char *text)
{
    if (event_place(events, kind, state, name, text) != NULL)
        event_tell(events);
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

static void scan_silence(struct events *events, const struct node *node, uint32_t index,
                         const struct node_edge_view *view)
{
    char text[CONTROL_TEXT_BYTES] = "";
    if (view->up)
        events->silence_said[index] = false;
    else if (!events->silence_said[index])
        node_peer_silence(node, index, text, sizeof(text));
    if (text[0] == '\0')
        return;
    events->silence_said[index] = true;
    event_add(events, EVENT_SILENCE, 0, view->peer, text);
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
        scan_silence(events, node, index, &view);
    }
}

static void scan_line(struct events *events, const struct node *node)
{
    char text[CONTROL_TEXT_BYTES];
    for (unsigned in = 0; in < 2; in++) {
        if (events->line_said[in])
            continue;
        node_narrow_line(node, in != 0, text, sizeof(text));
        events->line_said[in] = text[0] != '\0';
        if (events->line_said[in])
            event_add(events, EVENT_LINE, 0, "", text);
    }
}

/* What a port of this worker, or of one that it meets, has to say. */
static void scan_words(struct events *events, const struct datagram_port *ports, uint16_t port_count,
                       uint64_t now_ns)
{
    char text[CONTROL_TEXT_BYTES];
    for (uint16_t index = 0; index < port_count; index++) {
        const struct datagram_port *port = &ports[index];
        if (port->calls->word != NULL && port->calls->word(port->self, text, sizeof(text), now_ns))
            event_add(events, EVENT_LINE, 0, "", text);
    }
}

static void scan_namesake(struct events *events, const struct node *node, uint64_t now_ns)
{
    char text[CONTROL_TEXT_BYTES];
    uint64_t hellos = node_namesake(node, text, sizeof(text));
    if (hellos == events->namesake_hellos) {
        claim_over(&events->namesake, now_ns);
        return;
    }
    events->namesake_hellos = hellos;
    if (claim_say(&events->namesake, text, now_ns))
        event_add(events, EVENT_NAMESAKE, 0, "", text);
}

static void scan_links(struct events *events, const struct datagram_port *ports, uint16_t port_count)
{
    for (uint16_t index = 0; index < port_count; index++)
        if (datagram_link_up(&ports[index]) != events->link_up[index]) {
            events->link_up[index] = datagram_link_up(&ports[index]);
            event_add(events, EVENT_LINK, events->link_up[index], ports[index].name, "");
        }
}

/* Names of those who brought it, as many as there is room for. */
static void list_via(const struct node_job_view *view, char via[TRANSFER_VIA_BYTES])
{
    size_t length = 0;
    for (uint32_t index = 0; index < view->via_count; index++) {
        size_t bytes = strlen(view->via[index]) + 2;
        if (length + bytes >= TRANSFER_VIA_BYTES)
            return;
        if (length > 0)
            memcpy(via + length, ", ", 3);
        length += length > 0 ? 2 : 0;
        memcpy(via + length, view->via[index], bytes - 1);
        length += bytes - 2;
    }
}

/* False: nothing was sent. */
static bool transfer_at_source(const struct node_job_view *view, struct transfer *transfer)
{
    if (!view->source || view->state < JOB_DONE || view->running_ns == 0)
        return false;
    transfer->bytes = view->size_bytes;
    transfer->took_ns = elapsed_ns(view->ended_ns, view->running_ns);
    transfer->sites = view->site_count;
    for (uint16_t site = 0; site < view->site_count; site++)
        transfer->sites_whole +=
            view->sites[site].state == SITE_VERIFIED || view->sites[site].state == SITE_SKIPPED;
    name_copy(transfer->object, sizeof(transfer->object), view->object);
    return true;
}

/* The copy here has become whole, or can't become so any more. */
static void scan_copy(struct events *events, const struct node_job_view *view)
{
    if (view->source || !view->keeps || view->result == SITE_RECEIVING)
        return;
    struct event *event = event_place(events, EVENT_RECEIVED, view->result, view->name, view->text);
    if (event == NULL)
        return;
    struct transfer *transfer = &event->transfer;
    event->moved = view->whole_ns != 0;
    transfer->bytes = view->size_bytes;
    transfer->took_ns = elapsed_ns(view->whole_ns, view->running_ns);
    name_copy(transfer->object, sizeof(transfer->object), view->object);
    name_copy(transfer->from, sizeof(transfer->from), view->from);
    list_via(view, transfer->via);
    event_tell(events);
}

static void scan_state(struct events *events, const struct node_job_view *view, bool noted)
{
    bool note = noted || (view->state == JOB_RUNNING && view->text[0] == '\0');
    struct event *event =
        event_place(events, EVENT_JOB, view->state, view->name, note ? view->note : view->text);
    if (event == NULL)
        return;
    event->moved = !noted && transfer_at_source(view, &event->transfer);
    event_tell(events);
}

/* Another host that has a port's address shows with each of its questions. */
static void scan_holders(struct events *events, const struct datagram_port *ports, uint16_t port_count,
                         uint64_t now_ns)
{
    for (uint16_t index = 0; index < port_count; index++) {
        struct port *port = ports[index].device;
        if (port == NULL)
            continue;
        uint64_t conflicts = count_get(&port->counters.address_conflicts);
        if (conflicts == events->conflicts[index]) {
            if (claim_over(&events->holders[index], now_ns))
                port_holder_forget(port);
            continue;
        }
        events->conflicts[index] = conflicts;
        char mac[PORT_MAC_TEXT_BYTES], address[ADDRESS_TEXT_BYTES], text[CONTROL_TEXT_BYTES];
        port_holder(port, mac);
        address_format(&port->config.address, address);
        *strrchr(address, ':') = '\0'; /* the UDP port is not in question */
        snprintf(text, sizeof(text), "%s, at MAC %s", address, mac);
        if (mac[0] != '\0' && claim_say(&events->holders[index], text, now_ns))
            event_add(events, EVENT_HOLDER, 0, port->device.name, text);
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
    struct events_job *seen = &events->jobs[index];
    if (seen->id != view->id)
        *seen = (struct events_job){.id = view->id, .state = JOB_STATE_COUNT};
    bool same = seen->state == view->state;
    uint16_t note_bytes = (uint16_t)strlen(view->note);
    bool noted = same && note_bytes > seen->note_bytes; /* what came after the job's end */
    if (seen->result != view->result)
        scan_copy(events, view);
    if (!same || noted)
        scan_state(events, view, noted);
    seen->state = view->state;
    seen->result = view->result;
    seen->note_bytes = note_bytes;
}

void events_scan(struct events *events, const struct node *node, const struct datagram_port *ports,
                 uint16_t port_count, uint64_t now_ns)
{
    if (now_ns < events->scan_ns)
        return;
    events->scan_ns = now_ns + EVENTS_SCAN_NS;
    scan_links(events, ports, port_count);
    scan_holders(events, ports, port_count, now_ns);
    scan_peers(events, node, now_ns);
    scan_line(events, node);
    scan_words(events, ports, port_count, now_ns);
    scan_namesake(events, node, now_ns);
    scan_job(events, node);
}

static void print_copy(const struct event *event, const char *node_name)
{
    char words[EVENT_WORDS_BYTES];
    transfer_words(&event->transfer, words, sizeof(words));
    if (event->moved)
        fprintf(stderr, "%s: job %s: %s\n", node_name, event->name, words);
    else if (event->state == SITE_SKIPPED)
        fprintf(stderr, "%s: job %s: its file was here already: %s\n", node_name, event->name, event->text);
    else
        fprintf(stderr, LOG_ERROR "%s: job %s: the copy from %s failed here: %s\n", node_name, event->name,
                event->transfer.from, event->text);
}

static void print_job(const struct event *event, const char *node_name)
{
    char words[EVENT_WORDS_BYTES] = "";
    if (event->moved)
        transfer_words(&event->transfer, words, sizeof(words));
    fprintf(stderr, "%s%s: job %s: %s%s%s%s%s\n", event->state == JOB_FAILED ? LOG_ERROR : "", node_name,
            event->name, job_state_name(event->state), event->text[0] != '\0' ? ": " : "", event->text,
            words[0] != '\0' ? "; " : "", words);
}

static void event_print(const struct event *event, const char *node_name)
{
    const char *priority = event->state ? "" : LOG_WARNING; /* of what is up or down */
    switch ((enum event_kind)event->kind) {
    case EVENT_PEER:
        fprintf(stderr, "%s%s: peer %s is %s\n", priority, node_name, event->name,
                event->state ? "up" : "down");
        break;
    case EVENT_MISFIT:
        fprintf(stderr, LOG_WARNING "%s: peer %s does not fit: %s\n", node_name, event->name, event->text);
        break;
    case EVENT_SILENCE:
        fprintf(stderr, LOG_WARNING "%s: peer %s: %s\n", node_name, event->name, event->text);
        break;
    case EVENT_LINE:
        fprintf(stderr, LOG_WARNING "%s: %s\n", node_name, event->text);
        break;
    case EVENT_HOLDER:
        fprintf(stderr, LOG_WARNING "%s: another host has the address of %s, %s\n", node_name, event->name,
                event->text);
        break;
    case EVENT_NAMESAKE:
        fprintf(stderr, LOG_WARNING "%s: %s: are there two of that name?\n", node_name, event->text);
        break;
    case EVENT_LINK:
        fprintf(stderr, "%s%s: link of %s is %s\n", priority, node_name, event->name,
                event->state ? "up" : "down");
        break;
    case EVENT_RECEIVED:
        print_copy(event, node_name);
        break;
    case EVENT_JOB:
        print_job(event, node_name);
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
