/* The appliance: what its parts share. Threads: the worker (the thread of main) owns the node and the ports of
 * worker 0; each further worker owns the ports that are its, and meets the first in their crossings alone; the
 * console, the socket server and the background thread talk to the first through the channel only. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include "app/unix_socket.h"
#include "channel.h"
#include "conf/conf.h"
#include "disk/disk.h"
#include "disk/rates.h"
#include "dpdk/crossing.h"
#include "dpdk/eal.h"
#include "dpdk/port.h"
#include "dpdk/tsc.h"
#include "events.h"
#include "node/node.h"
#include "port_worker.h"
#include "question.h"
#include "starter.h"
#include "udp/udp_port.h"
#include "worker.h"

struct app {
    struct app_config config;
    struct conf_settings settings; /* what the file says, for `show config` */
    struct eal eal;
    bool hugepages;
    uint64_t memory_bytes; /* needed in all */
    char memory_text[256];
    struct datagram_port ports[NODE_PORTS_MAX];
    struct port *devices;     /* behind those of DPDK, by port; NULL: there are none */
    struct udp_port *sockets; /* behind the others, by port; NULL: there are none */
    /* Of ports that another worker drives; NULL: the node's does. */
    struct crossing *crossings[NODE_PORTS_MAX];
    struct port_worker port_workers[APP_LCORES_MAX]; /* by number, 0 is not used */
    bool ports_stop;                                 /* atomic: the node has said its last */
    struct tsc_clock clock;                          /* the worker's */
    struct tsc_shared clock_shared;
    struct node *node;
    struct disk *disk;
    struct disk_rates disk_rates; /* of the background thread; others read */
    struct channel channel;
    struct outbox outbox;                 /* worker → planner */
    struct question question;             /* operators → planner */
    struct starter_config starter_config; /* of planners, whoever starts them */
    struct starter starter;               /* of the background thread */
    bool planner_wanted;                  /* atomic, the worker's: a job needs one, or will */
    struct events events;                 /* worker → log */
    struct worker worker;
    uint64_t remind_ns;            /* of the background thread: when to say again that there are no keys */
    struct waiter background;      /* where the background thread waits */
    bool stop;                     /* atomic: SIGTERM, SIGINT, quit */
    bool console;                  /* -i */
    struct unix_listener listener; /* the control socket */
    int exit_code;                 /* of the console, when it was fed by a file */
};

static inline bool app_stopping(const struct app *app)
{
    return __atomic_load_n(&app->stop, __ATOMIC_RELAXED);
}

static inline void app_stop(struct app *app)
{
    __atomic_store_n(&app->stop, true, __ATOMIC_RELAXED);
    waiter_wake(&app->worker.turns.waiter);
    waiter_wake(&app->background);
}

/* setup.c: everything from the checked configuration to started ports; messages go to stderr. */
/* Computes the need and decides where memory comes from; before anything starts. */
bool app_memory(struct app *app, uint64_t *eal_bytes, struct err *err);
bool app_start(struct app *app, int extra_count, char **extra, struct err *err);
void app_finish(struct app *app);

/* What each further thread runs; argument: the app. */
void *console_main(void *argument);
void *server_main(void *argument);
void *background_main(void *argument);
/* Before the threads start: the socket must be there when the ready line is printed. */
bool server_listen(struct app *app, struct err *err);
