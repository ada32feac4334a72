/* A node file as it stands, before ports and peers are split between node and program. */
#pragma once

#include "conf/app_config.h"
#include "conf/reader.h"

struct node_file_port {
    struct node_port_config node;
    struct app_port_config app;
};

struct node_file_peer {
    struct node_peer_config node;
    uint16_t udp_port; /* 0: as the own */
    struct app_keys keys;
    uint16_t site; /* its number in the roster, from 1; 0: it stands in peers */
};

/* A site of the roster: a peer, or this node itself. */
struct node_file_site {
    struct node_file_peer peer;
    uint8_t prefix_length;      /* 0: not said */
    struct net_address gateway; /* family 0: not said */
};

struct node_file {
    struct app_config config;
    bool keys_ignored; /* all of rosters and peers: see conf_read_identity */
    uint16_t udp_port;
    uint16_t site_count;
    struct node_file_site sites[NODE_PEERS_MAX + 1];
    struct node_file_port ports[NODE_PORTS_MAX];
    struct node_file_peer peers[NODE_PEERS_MAX];
};

/* ---- node_roster.c ---- */
/* The name of this node: the given one, else the file's, else the host's. `given` NULL: none. */
void node_file_name(struct conf_reader *reader, struct node_file *file, const char *given);
/* Its own entry goes to the port, the others become peers. */
void node_file_take_roster(struct conf_reader *reader, struct node_file *file);

/* ---- node_keys.c ---- */
/* The row of a peer's keys, and of a site's. */
extern const struct conf_option node_file_key_options[];
/* All have keys, no two the same; or, where the file asks for it, none has. */
void node_file_check_keys(struct conf_reader *reader, struct node_file *file);

/* ---- node_check.c ---- */
/* What holds between keys: names and addresses distinct, peers reachable, sources known. Reports all. */
void node_file_check(struct conf_reader *reader, struct node_file *file);
