/* The appliance's whole YAML node file: the node's own part and what only the program needs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "node/node_config.h"
#include "seal/primitives.h"
#include "wire/ethernet.h"

#define APP_LCORES_MAX      16
#define APP_WORKER_SPREAD   UINT16_MAX /* not said: the lcores after the first, in turn */
#define APP_EAL_OPTIONS_MAX 32
#define APP_DEVICE_BYTES    256
#define APP_INTERFACE_BYTES 16 /* as IFNAMSIZ */
#define APP_OUTGOING_MAX    16
#define APP_USERS_MAX       32
#define APP_USER_BYTES      34
#define APP_KEYS_MAX        2 /* of a site: the new one and the old one, while it changes its key */

enum app_planner { APP_PLANNER_AUTO = 0, APP_PLANNER_OFF };

/* Public keys of a site, as the roster has them. */
struct app_keys {
    uint16_t count;
    uint32_t line; /* of the node file, where they begin */
    uint8_t keys[APP_KEYS_MAX][SEAL_KEY_BYTES];
};

enum app_idle { APP_IDLE_SLEEP = 0, APP_IDLE_YIELD, APP_IDLE_POLL };

struct app_port_config {
    /* PCI address, or vdev with arguments: "0000:3b:02.0", "net_memif0,role=client,…"; "": a UDP socket of the kernel, which
     * has its own routes: what says how frames leave means nothing there. */
    char device[APP_DEVICE_BYTES];
    char interface[APP_INTERFACE_BYTES]; /* of a socket with a link-local address; "": none */
    uint8_t prefix_length;               /* of the address: which peers are on the link */
    struct net_address gateway;          /* family 0: none */
    uint16_t vlan;                       /* 0: untagged */
    bool static_mac;                     /* gateway_mac is given: no ARP/ND */
    uint8_t gateway_mac[MAC_BYTES];
    uint32_t frame_bytes_max; /* mtu + 14 (+ 4 with VLAN) */
    uint16_t worker;          /* which of lcores drives it; 0: the node's own */
    bool rate_given;          /* the file says what may be sent */
};

static inline bool app_port_is_socket(const struct app_port_config *port)
{
    return port->device[0] == '\0';
}

/* From where jobs may be run, and by whom. */
struct app_outgoing {
    char path[PATH_BYTES];
    uint16_t user_count;                       /* 0: all who may use the control socket */
    char users[APP_USERS_MAX][APP_USER_BYTES]; /* "alice", "@backup" for a group */
};

/* Of this machine. */
struct app_group {
    char name[APP_USER_BYTES]; /* empty: none */
    uint32_t id;
    int refused; /* errno: this machine could not say whether there is such a group; 0: it could */
};

struct app_config {
    struct node_config node;
    struct app_port_config ports[NODE_PORTS_MAX];
    bool insecure;                  /* packets are neither authenticated nor encrypted … */
    uint32_t insecure_line;         /* … as that line of the file says */
    uint16_t own_port;              /* the one that the roster gives its address */
    struct net_address own_address; /* which is this: what others send to; none: there is no roster */
    char key_file[PATH_BYTES];      /* where its private key is; empty until places_complete: not said */
    struct app_keys own_keys;       /* its own entry's; none: no entry, or no keys at all */
    struct app_keys peer_keys[NODE_PEERS_MAX]; /* by peer: each has some, or none has */
    uint16_t lcore_count;
    uint16_t lcores[APP_LCORES_MAX]; /* of the node, then of ports; none: one that the kernel places */
    uint8_t idle;                    /* enum app_idle */
    uint64_t memory_bytes;           /* for DPDK (mbufs, arenas); 0: computed */
    bool buffer_given;               /* the file says how large the symbol buffer is */
    bool hugepages;                  /* use them when there are any */
    /* Without their dashes: "no-pci", "file-prefix=london". */
    uint16_t eal_option_count;
    char eal_options[APP_EAL_OPTIONS_MAX][APP_DEVICE_BYTES];
    char control_socket[PATH_BYTES];   /* for sluicectl; empty until places_complete: not said */
    struct app_group control_group;    /* whose members may use it beside the appliance's own user */
    char control_ring[PATH_BYTES];     /* for sluice-planner; empty: none */
    bool ring_by_name;                 /* until places_complete: the file says neither socket nor ring */
    uint8_t planner;                   /* enum app_planner: who starts it */
    char planner_user[APP_USER_BYTES]; /* whose rights it gets; empty: those of this program */
    char avb_file[PATH_BYTES];      /* available bandwidth between sites, read before each job; empty: none */
    char distance_file[PATH_BYTES]; /* distances between sites; the same */
    uint16_t outgoing_count;        /* 0: whatever the caller can read himself */
    struct app_outgoing outgoing[APP_OUTGOING_MAX];
    uint16_t disk_threads;   /* for the blocks of each filesystem */
    uint16_t disk_cpu_count; /* 0: all that the program may use */
    uint16_t disk_cpus[APP_LCORES_MAX];
    uint64_t disk_index_bytes;    /* for the indexes of all directories that arrive at once */
    char source_path[PATH_BYTES]; /* the file it was read from */
};

#define APP_CONFIG_PORT_RATE_DEFAULT 10000000000ULL
