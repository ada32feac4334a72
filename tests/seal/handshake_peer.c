/* One end of a handshake, for another implementation to talk to, in lines of hex:
 * handshake_peer initiate|respond PRIVATE PEER EPHEMERAL PAYLOAD. The initiator writes its message, reads a line with the
 * answer; the responder reads first. Both end with: payload, key out, key in. Exit status 1: the handshake failed. */
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "crypt/crypt.h"
#include "seal/handshake.h"

static void read_hex(const char *text, uint8_t *out, size_t length)
{
    CHECK(strlen(text) >= 2 * length);
    for (size_t index = 0; index < length; index++) {
        unsigned byte;
        CHECK(sscanf(text + 2 * index, "%2x", &byte) == 1);
        out[index] = (uint8_t)byte;
    }
}

static void read_line(uint8_t *out, size_t length)
{
    char line[1024];
    CHECK(fgets(line, sizeof(line), stdin) != NULL);
    read_hex(line, out, length);
}

static void write_line(const uint8_t *data, size_t length)
{
    for (size_t index = 0; index < length; index++)
        printf("%02x", data[index]);
    putchar('\n');
    fflush(stdout);
}

int main(int count, char **arguments)
{
    static struct cipher_key scratch;
    struct err err;
    struct key_pair own;
    struct bond bond;
    struct noise noise;
    struct session_secrets secrets;
    uint8_t peer[SEAL_KEY_BYTES], ephemeral[SEAL_KEY_BYTES], payload[HANDSHAKE_PAYLOAD_BYTES];
    uint8_t first[HANDSHAKE_INITIATION_BYTES], second[HANDSHAKE_RESPONSE_BYTES], got[HANDSHAKE_PAYLOAD_BYTES];
    const struct primitives *primitives = crypt_primitives(&err);
    CHECK(count == 6 && primitives != NULL);
    primitives->cipher_key_init(&scratch);
    read_hex(arguments[2], own.private_key, SEAL_KEY_BYTES);
    primitives->public_key(own.public_key, own.private_key);
    read_hex(arguments[3], peer, sizeof(peer));
    read_hex(arguments[4], ephemeral, sizeof(ephemeral));
    read_hex(arguments[5], payload, sizeof(payload));
    CHECK(bond_make(&bond, primitives, &own, peer));
    if (strcmp(arguments[1], "initiate") == 0) {
        CHECK(handshake_initiate(&noise, &bond, &scratch, ephemeral, payload, first));
        write_line(first, sizeof(first));
        read_line(second, sizeof(second));
        if (!handshake_finish(&noise, second, got, &secrets))
            return 1;
    } else {
        read_line(first, sizeof(first));
        if (!handshake_read(&noise, &bond, &scratch, first, got) ||
            !handshake_respond(&noise, ephemeral, payload, second, &secrets))
            return 1;
        write_line(second, sizeof(second));
    }
    write_line(got, sizeof(got));
    write_line(secrets.out, SEAL_KEY_BYTES);
    write_line(secrets.in, SEAL_KEY_BYTES);
    return 0;
}
