/* Room for what lasts no longer than a datagram: the cipher of handshakes; its text in the clear. */
#pragma once

#include "seal/session_keys.h"

#define KEY_ROOM_OPENED                                                                                      \
    2048 /* longer ones are sealed by no node: DATA, trains and probes are not encrypted */

struct key_room {
    struct cipher_key scratch;
    uint8_t opened[KEY_ROOM_OPENED];
};
