/* What stands in handshakes, changed on the way. An input is
 *
 *     which u8 | changes, combined with the datagram's bytes from its first on
 *
 * By primitives that authenticate (which & 2) nothing changed is taken; by those that do not, what is taken is what
 * came, is answered, and both sides come out with the same. A response that is not taken changes nothing: the right one
 * is taken after it. */
#include <string.h>

#include "base/check.h"
#include "base/units.h"
#include "fuzz.h"
#include "seal/handshake.h"
#include "seal/insecure.h"
#include "sizes/nonces.h"
#include "sizes/sizes.h"
#include "wire/handshake.h"

#define WHICH_RESPONSE 1
#define WHICH_SEALED   2
#define TAG_AT         16

struct side {
    struct key_pair keys;
    struct bond bond;
    struct noise noise;
    struct session_secrets secrets;
};

static struct bench {
    const struct primitives *primitives;
    struct cipher_key scratch;
    struct side one, other;
    uint8_t first[WIRE_INITIATION_BYTES], second[WIRE_RESPONSE_BYTES];
    uint8_t said[WIRE_GREETING_BYTES], got[WIRE_GREETING_BYTES];
} bench;

static const uint8_t fresh[2][SEAL_KEY_BYTES] = {"ephemeral bytes of the initiator",
                                                 "ephemeral bytes of the responder"};

static void begin(const struct primitives *primitives)
{
    struct wire_greeting greeting = {.incarnation = 1,
                                     .session = 0x100,
                                     .window = 4096,
                                     .mtu = 1500,
                                     .interval_ms = 1000,
                                     .name.text = "one",
                                     .peer.text = "other"};
    memset(&bench, 0, sizeof(bench));
    nonces_forget();
    bench.primitives = primitives;
    primitives->cipher_key_init(&bench.scratch);
    insecure_key_pair(primitives, "one", &bench.one.keys);
    insecure_key_pair(primitives, "other", &bench.other.keys);
    CHECK(bond_make(&bench.one.bond, primitives, &bench.one.keys, bench.other.keys.public_key));
    CHECK(bond_make(&bench.other.bond, primitives, &bench.other.keys, bench.one.keys.public_key));
    wire_greeting_put(bench.said, &greeting);
    CHECK(handshake_initiate(&bench.one.noise, &bench.one.bond, &bench.scratch, fresh[0], bench.said,
                             bench.first + WIRE_HEADER_BYTES));
}

static void finish_header(const struct side *side, uint8_t *datagram, enum wire_type type, size_t length)
{
    wire_header_put(datagram, &(struct wire_header){.version = WIRE_VERSION, .type = (uint8_t)type});
    bond_mac_out(&side->bond, datagram, length, TAG_AT, datagram + TAG_AT);
}

/* True: nothing is changed. */
static bool change(uint8_t *datagram, size_t length, const uint8_t *changes, size_t count)
{
    uint8_t all = 0;
    for (size_t at = 0; at < MIN(length, count); at++) {
        datagram[at] ^= changes[at];
        all |= changes[at];
    }
    return all == 0;
}

static void respond(void)
{
    CHECK(handshake_respond(&bench.other.noise, fresh[1], bench.said, bench.second + WIRE_HEADER_BYTES,
                            &bench.other.secrets));
    finish_header(&bench.other, bench.second, WIRE_RESPONSE, sizeof(bench.second));
}

static bool read_first(const uint8_t *datagram)
{
    return handshake_read(&bench.other.noise, &bench.other.bond, &bench.scratch, datagram + WIRE_HEADER_BYTES,
                          bench.got);
}

static bool finish(const uint8_t *datagram)
{
    return handshake_finish(&bench.one.noise, datagram + WIRE_HEADER_BYTES, bench.got, &bench.one.secrets);
}

/* What stands in the place of the greeting, which is not encrypted. */
static void check_got(const uint8_t *datagram, size_t length)
{
    struct wire_greeting greeting;
    if (!bench.primitives->authenticates)
        CHECK(memcmp(bench.got, datagram + length - WIRE_SEALED_BYTES, sizeof(bench.got)) == 0);
    wire_greeting_decode(bench.got, &greeting);
}

static void test_initiation(const uint8_t *changes, size_t count)
{
    finish_header(&bench.one, bench.first, WIRE_INITIATION, sizeof(bench.first));
    bool same = change(bench.first, sizeof(bench.first), changes, count);
    bool fits = bond_mac_fits(&bench.other.bond, bench.first, sizeof(bench.first), TAG_AT);
    bool taken = read_first(bench.first);
    CHECK(!same || (fits && taken));
    if (bench.primitives->authenticates)
        CHECK(fits == same);
    if (!taken)
        return;
    check_got(bench.first, sizeof(bench.first));
    respond();
}

static bool secrets_agree(void)
{
    const struct session_secrets *one = &bench.one.secrets, *other = &bench.other.secrets;
    return memcmp(one->out, other->in, SEAL_KEY_BYTES) == 0 &&
           memcmp(one->in, other->out, SEAL_KEY_BYTES) == 0 && one->name == other->name;
}

static void test_response(const uint8_t *changes, size_t count)
{
    uint8_t changed[WIRE_RESPONSE_BYTES];
    CHECK(read_first(bench.first));
    respond();
    memcpy(changed, bench.second, sizeof(changed));
    bool same = change(changed, sizeof(changed), changes, count);
    bool fits = bond_mac_fits(&bench.one.bond, changed, sizeof(changed), TAG_AT);
    bool taken = finish(changed);
    CHECK(!same || (fits && taken && secrets_agree()));
    if (bench.primitives->authenticates)
        CHECK(fits == same);
    if (taken)
        check_got(changed, sizeof(changed));
    else
        CHECK(finish(bench.second) && secrets_agree());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    begin((data[0] & WHICH_SEALED) != 0 ? &sizes_primitives : &insecure_primitives);
    if ((data[0] & WHICH_RESPONSE) != 0)
        test_response(data + 1, size - 1);
    else
        test_initiation(data + 1, size - 1);
    return 0;
}

void fuzz_seeds(struct seeds *seeds)
{
    static const char *const names[] = {"initiation", "response", "initiation_sealed", "response_sealed"};
    uint8_t input[1 + WIRE_INITIATION_BYTES] = {0};
    for (uint8_t which = 0; which < 4; which++) {
        input[0] = which;
        LLVMFuzzerTestOneInput(input, sizeof(input));
        seeds->emit(seeds, names[which], input, sizeof(input));
    }
}
