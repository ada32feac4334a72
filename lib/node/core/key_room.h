/* Room for what lasts no longer than a datagram: keys of handshakes, and of sessions that have still to be proved; its text in
 * the clear. */
#pragma once

#include "seal/session_keys.h"

#define KEY_ROOM_OPENED                                                                                      \
    2048 /* longer ones are sealed by no node: DATA, trains and probes are not encrypted */

struct key_room {
    struct cipher_key scratch;
    struct session_keys trial;
    uint8_t opened[KEY_ROOM_OPENED];
};
