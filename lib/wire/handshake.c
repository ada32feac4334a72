#include "wire/handshake.h"

enum wire_error wire_greeting_decode(const uint8_t data[WIRE_GREETING_BYTES], struct wire_greeting *greeting)
{
    wire_greeting_get(data, greeting);
    if (greeting->incarnation == 0 || greeting->session == 0 || greeting->window == 0 ||
        greeting->interval_ms == 0 || greeting->mtu < WIRE_MTU_MIN)
        return WIRE_BAD_VALUE;
    return wire_name_valid(&greeting->name) && wire_name_valid(&greeting->peer) ? WIRE_OK : WIRE_BAD_VALUE;
}

enum wire_error wire_handshake_check(const struct wire_header *header, size_t length)
{
    size_t expected = header->type == WIRE_INITIATION ? WIRE_INITIATION_BYTES : WIRE_RESPONSE_BYTES;
    if (length != expected)
        return length < expected ? WIRE_TOO_SHORT : WIRE_BAD_LENGTH;
    bool asks = header->type == WIRE_INITIATION;
    bool others = header->key_id == 0 && header->flags == 0 && header->stamp == 0;
    return others && (asks ? header->session : header->packet_number) == 0 && (asks || header->session != 0)
               ? WIRE_OK
               : WIRE_BAD_VALUE;
}
