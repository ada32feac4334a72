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
};

struct node_file {
    struct app_config config;
    uint16_t udp_port;
    struct node_file_port ports[NODE_PORTS_MAX];
    struct node_file_peer peers[NODE_PEERS_MAX];
};

/* What holds between keys: names and addresses distinct, peers reachable, sources known. Reports all. */
void node_file_check(struct conf_reader *reader, const struct node_file *file);
