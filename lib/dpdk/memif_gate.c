/* Interrupts of devices are only reached through symbols that DPDK 22.11 calls experimental. */
#define ALLOW_EXPERIMENTAL_API

#include "dpdk/memif_gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "dpdk/compat.h"

#include <rte_interrupts.h>
#include <rte_log.h>

#include "base/count.h"
#include "base/units.h"
#include "dpdk/socket_file.h"

#define GATES_MAX       64
#define GATE_LINKS_MAX  32 /* connections through one gate: a device needs one */
#define GATE_EVENTS_MAX 16
#define GATE_BACKLOG    64
#define MESSAGE_BYTES   256 /* of memif: 128 */
#define LISTENER_EVENT  UINT32_MAX
#define MEMIF_DEFAULT   "/run/memif.sock" /* where its driver listens, abstract, unless told */

enum gate_side { SIDE_CLIENT = 0, SIDE_DRIVER };

/* A client, and the connection to the driver that was made for it. */
struct gate_link {
    int sides[2];
    bool greeted; /* the driver's first message has come: from here on either end may go */
};

struct memif_gate {
    char address[sizeof(((struct sockaddr_un *)0)->sun_path)];
    bool abstract;
    bool stopped;
    unsigned users;
    char directory[32], path[48]; /* of the driver's socket, until it has lost its name */
    int epoll, listener, driver;  /* `driver` stands for the nameless socket */
    struct rte_intr_handle *handle;
    struct gate_link links[GATE_LINKS_MAX];
    uint64_t refused;
};

static struct memif_gate gates[GATES_MAX];

/* ---- connections: the interrupt thread ---- */

static void watch(const struct memif_gate *gate, int operation, int fd, uint32_t what, bool reads)
{
    struct epoll_event event = {.events = reads ? EPOLLIN : 0, .data.u32 = what};
    epoll_ctl(gate->epoll, operation, fd, &event);
}

static uint32_t event_of(const struct memif_gate *gate, const struct gate_link *link, enum gate_side side)
{
    return (uint32_t)(link - gate->links) * 2 + side;
}

static void link_end(struct memif_gate *gate, struct gate_link *link)
{
    if (!link->greeted && !gate->stopped)
        watch(gate, EPOLL_CTL_MOD, gate->listener, LISTENER_EVENT, true);
    for (int side = 0; side < 2; side++) {
        close(link->sides[side]);
        link->sides[side] = -1;
    }
}

static bool may_enter(const struct memif_gate *gate, int client)
{
    struct ucred peer;
    socklen_t length = sizeof(peer);
    if (!gate->abstract)
        return true; /* the kernel has asked the file */
    return getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

static int driver_connect(const struct memif_gate *gate)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", gate->driver);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

static struct gate_link *link_free(struct memif_gate *gate)
{
    for (unsigned index = 0; index < GATE_LINKS_MAX; index++)
        if (gate->links[index].sides[SIDE_CLIENT] < 0)
            return &gate->links[index];
    return NULL;
}

/* The driver is asked for one greeting at a time: its socket keeps hardly more waiting. The client's end is
 * not looked at before, as its going away must not end the other. */
static void admit(struct memif_gate *gate)
{
    int client = accept4(gate->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0)
        return;
    struct gate_link *link = link_free(gate);
    int driver = link != NULL && may_enter(gate, client) ? driver_connect(gate) : -1;
    if (driver < 0) {
        count_add(&gate->refused, 1);
        close(client);
        return;
    }
    *link = (struct gate_link){.sides = {client, driver}};
    watch(gate, EPOLL_CTL_ADD, driver, event_of(gate, link, SIDE_DRIVER), true);
    watch(gate, EPOLL_CTL_MOD, gate->listener, LISTENER_EVENT, false);
}

/* A message and the descriptor that may come with it. False: the connection is to end. */
static bool message_pass(int from, int to)
{
    char bytes[MESSAGE_BYTES];
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {bytes, sizeof(bytes)};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t length = recvmsg(from, &message, MSG_CMSG_CLOEXEC);
    if (length < 0)
        return errno == EAGAIN || errno == EINTR;
    int carried = -1;
    const struct cmsghdr *found = CMSG_FIRSTHDR(&message);
    if (found != NULL && found->cmsg_level == SOL_SOCKET && found->cmsg_type == SCM_RIGHTS)
        memcpy(&carried, CMSG_DATA(found), sizeof(carried));
    bool whole = length > 0 && (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    part.iov_len = (size_t)MAX(length, 0);
    whole = whole && sendmsg(to, &message, MSG_NOSIGNAL) == length;
    if (carried >= 0)
        close(carried);
    return whole;
}

static void link_serve(struct memif_gate *gate, struct gate_link *link, enum gate_side side)
{
    if (link->sides[side] < 0)
        return; /* ended by what came before */
    if (!message_pass(link->sides[side], link->sides[!side])) {
        link_end(gate, link); /* a client that is gone already: what the driver said to it has been read */
        return;
    }
    if (link->greeted)
        return;
    link->greeted = true;
    watch(gate, EPOLL_CTL_ADD, link->sides[SIDE_CLIENT], event_of(gate, link, SIDE_CLIENT), true);
    watch(gate, EPOLL_CTL_MOD, gate->listener, LISTENER_EVENT, true);
}

static void gate_serve(void *argument)
{
    struct memif_gate *gate = argument;
    struct epoll_event events[GATE_EVENTS_MAX];
    int count = epoll_wait(gate->epoll, events, GATE_EVENTS_MAX, 0);
    for (int index = 0; index < count; index++) {
        uint32_t what = events[index].data.u32;
        if (what == LISTENER_EVENT)
            admit(gate);
        else
            link_serve(gate, &gate->links[what / 2], (enum gate_side)(what % 2));
    }
}

/* ---- start and end: the thread that opens ports ---- */

/* The public address: false, none that fits. */
static bool address_read(struct memif_gate *gate, const struct device *device)
{
    char abstract[8] = "yes";
    if (!device_argument(device, "socket", gate->address, sizeof(gate->address)))
        snprintf(gate->address, sizeof(gate->address), MEMIF_DEFAULT);
    device_argument(device, "socket-abstract", abstract, sizeof(abstract));
    gate->abstract = strcmp(abstract, "no") != 0;
    return strlen(gate->address) + 1 < sizeof(gate->address);
}

/* A directory that is this user's alone, for the moment in which the driver binds its socket. */
static bool private_make(struct memif_gate *gate)
{
    static const char *const places[] = {"/dev/shm", "/tmp", "/run"};
    for (size_t index = 0; index < sizeof(places) / sizeof(places[0]); index++) {
        snprintf(gate->directory, sizeof(gate->directory), "%s/sluice-memif-XXXXXX", places[index]);
        if (mkdtemp(gate->directory) == NULL)
            continue;
        snprintf(gate->path, sizeof(gate->path), "%s/socket", gate->directory);
        return true;
    }
    return false;
}

static struct memif_gate *gate_find(const struct memif_gate *like)
{
    struct memif_gate *unused = NULL;
    for (unsigned index = 0; index < GATES_MAX; index++) {
        struct memif_gate *gate = &gates[index];
        if (gate->users == 0)
            unused = gate;
        else if (gate->abstract == like->abstract && strcmp(gate->address, like->address) == 0)
            return gate;
    }
    return unused;
}

bool memif_gate_open(struct memif_gate **gate, const struct device *device, char *args, size_t room,
                     struct err *err)
{
    struct memif_gate fresh = {.epoll = -1, .listener = -1, .driver = -1};
    *gate = NULL;
    snprintf(args, room, "%s", device->args);
    if (device->kind != DEVICE_MEMIF || device->redials)
        return true;
    if (!address_read(&fresh, device))
        return err_set(err, "device %s: the name of its socket is too long", device->name);
    struct memif_gate *found = gate_find(&fresh);
    if (found == NULL)
        return err_set(err, "device %s: more than %u memif sockets", device->name, GATES_MAX);
    if (found->users == 0) {
        for (unsigned index = 0; index < GATE_LINKS_MAX; index++)
            fresh.links[index] = (struct gate_link){.sides = {-1, -1}, .greeted = true};
        if (!private_make(&fresh))
            return err_set(err, "device %s: no directory for its driver's socket can be made (%s)",
                           device->name, strerror(errno));
        *found = fresh;
    }
    /* Of arguments that are given twice the driver takes the last. */
    int length = snprintf(args, room, "%s,socket=%s,socket-abstract=no", device->args, found->path);
    if (length < 0 || (size_t)length >= room)
        return err_set(err, "device %s: its arguments are too long", device->name);
    found->users++;
    *gate = found;
    return true;
}

/* Who knows no name can't connect: the inode alone is kept. */
static bool name_take(struct memif_gate *gate)
{
    gate->driver = open(gate->path, O_PATH | O_CLOEXEC);
    unlink(gate->path);
    rmdir(gate->directory);
    return gate->driver >= 0;
}

static bool public_bind(struct memif_gate *gate)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(gate->address);
    memcpy(address.sun_path + gate->abstract, gate->address, length);
    if (!gate->abstract)
        socket_file_clear(gate->address);
    gate->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
    return gate->listener >= 0 && bind(gate->listener, (struct sockaddr *)&address, bytes) == 0 &&
           listen(gate->listener, GATE_BACKLOG) == 0;
}

static bool serve_register(struct memif_gate *gate)
{
    gate->epoll = epoll_create1(EPOLL_CLOEXEC);
    watch(gate, EPOLL_CTL_ADD, gate->listener, LISTENER_EVENT, true);
    gate->handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
    return gate->epoll >= 0 && gate->handle != NULL && rte_intr_fd_set(gate->handle, gate->epoll) == 0 &&
           rte_intr_type_set(gate->handle, RTE_INTR_HANDLE_EXT) == 0 &&
           rte_intr_callback_register(gate->handle, gate_serve, gate) == 0;
}

bool memif_gate_listen(struct memif_gate *gate, struct err *err)
{
    if (gate == NULL || gate->listener >= 0)
        return true;
    if (!name_take(gate))
        return err_set(err, "memif socket %s: its driver made none", gate->address);
    if (!public_bind(gate))
        return err_set(err, "memif socket %s: cannot be made (%s); is another process listening on it?",
                       gate->address, strerror(errno));
    return serve_register(gate) || err_set(err, "memif socket %s: cannot be watched", gate->address);
}

void memif_gate_stop(struct memif_gate *gate)
{
    if (gate == NULL || gate->users > 1 || gate->epoll < 0)
        return;
    rte_intr_callback_unregister_sync(gate->handle, gate_serve, gate);
    gate->stopped = true;
    close(gate->listener);
    if (!gate->abstract)
        unlink(gate->address);
    /* Closing its device, the driver would complain that its socket's file is gone. */
    rte_log_set_level_pattern("pmd.net.memif", RTE_LOG_CRIT);
}

void memif_gate_close(struct memif_gate *gate)
{
    if (gate == NULL || --gate->users > 0)
        return;
    for (unsigned index = 0; gate->epoll >= 0 && index < GATE_LINKS_MAX; index++)
        if (gate->links[index].sides[SIDE_CLIENT] >= 0)
            link_end(gate, &gate->links[index]);
    if (gate->driver < 0)
        name_take(gate); /* the device was not made */
    close(gate->driver);
    close(gate->epoll);
    rte_intr_instance_free(gate->handle);
}

uint64_t memif_gate_refused(const struct memif_gate *gate)
{
    return gate != NULL ? count_get(&gate->refused) : 0;
}
