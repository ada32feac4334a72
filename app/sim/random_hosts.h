/* Random hosts: two nodes on a LAN that both take turns and stand still, as virtual machines do, one job. Like the random
 * neighbours (random.h) a draw is a scenario file, the same on every run.
 *
 * What a draw must reach, from 2 s on for 20 s, is 0.8 of
 *     L (1 - for_s / every_s) (1 - max(0, for_r - R t) / every_r), at most R payloads of 1400 bytes each turn_r
 * L: what the link carries of payload; for, every, turn, of sender and receiver; R: the receiver's ring, in packets of
 * t each. Nothing that two hosts do can bring more than that but by the phases of their standstills. */
#pragma once

#include "app/sim/random.h"

#define RANDOM_HOSTS_SHARE_LEAST 800 /* of what the formula says, in 1/1000 */

struct random_host {
    uint32_t ring_packets;
    uint64_t turn_ns, for_ns, every_ns;
};

struct random_hosts {
    uint64_t seed;
    uint32_t index;
    uint64_t rate_bps, rtt_ns;
    struct random_host sender, receiver;
    uint64_t payload_bps; /* L */
    uint64_t formula_bps;
};

/* 1 or 10 Gbit/s; log-uniform: RTT 20 us to 1 ms, rings of 128 to 4096 packets, turns of 20 us to 1 ms, standstills of 1
 * to 50 ms, each 10 to 100 times itself after the one before (more or less by a quarter). */
struct random_hosts random_hosts_make(uint64_t seed, uint32_t index);
void random_hosts_yaml(const struct random_hosts *draw, char text[RANDOM_YAML_BYTES]);
bool random_hosts_well(const struct random_hosts *draw, const struct sim_result *result);
/* As random_draw_print. */
bool random_hosts_print(const struct random_hosts *draw, const struct sim_result *result, bool json,
                        FILE *out);
