/* Room for what lasts no longer than a datagram: the cipher of handshakes; its text, or its bodies, in the clear. And the
 * ciphers of bodies, which each keep the key that they were used with last, and the jobs' secrets. */
#pragma once

#include "node/node_config.h"
#include "seal/body.h"
#include "seal/session_keys.h"

#define KEY_ROOM_OPENED                                                                                      \
    2048 /* longer ones are sealed by no node: DATA, trains and probes are not encrypted */
#define KEY_ROOM_BODIES 9216 /* no datagram is longer */
/* Of a job: what comes and what is sent again are of two groups of blocks at most, as a rule. */
#define KEY_ROOM_GROUPS 2

struct key_room {
    struct cipher_key scratch;
    uint8_t opened[KEY_ROOM_OPENED];
    struct body_secret secrets[NODE_JOBS_MAX];
    struct body_cipher bodies[NODE_JOBS_MAX][KEY_ROOM_GROUPS];
    uint8_t clear[KEY_ROOM_BODIES];
};
