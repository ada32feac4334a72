/* What sealing costs by itself, by each library that this processor has: the figures that others are ratios of; and what a
 * datagram costs that is refused. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/bench/bench.h"
#include "app/bench/refused.h"
#include "base/check.h"
#include "base/units.h"
#include "crypt/crypt.h"

#define BODY_BYTES  1408
#define BLOCK_BYTES (1u << 20)
#define TURNS       64  /* between two looks at the clock */
#define ROUNDS      301 /* of which the median counts */

static struct {
    const struct primitives *primitives;
    struct cipher_key key;
    uint8_t nonce[SEAL_NONCE_BYTES], tag[SEAL_TAG_BYTES], mac_key[SEAL_MAC_KEY_BYTES];
    uint8_t private_key[SEAL_KEY_BYTES], public_key[SEAL_KEY_BYTES], out[SEAL_KEY_BYTES];
    uint8_t known[176], body[BODY_BYTES], sealed[BODY_BYTES], block[BLOCK_BYTES];
} lab;

static void seal_body(void)
{
    lab.nonce[0]++;
    lab.primitives->seal(&lab.key, lab.nonce, (struct seal_bytes){NULL, 0}, lab.body, BODY_BYTES, lab.sealed,
                         lab.tag);
}

static void open_body(void)
{
    (void)lab.primitives->open(&lab.key, lab.nonce, (struct seal_bytes){NULL, 0}, lab.sealed, BODY_BYTES,
                               lab.body, lab.tag);
}

static void tag_known(size_t length)
{
    lab.nonce[0]++;
    lab.primitives->seal(&lab.key, lab.nonce, (struct seal_bytes){lab.known, length}, NULL, 0, NULL, lab.tag);
}

static void tag_64(void)
{
    tag_known(64);
}

static void tag_176(void)
{
    tag_known(sizeof(lab.known));
}

static void expand_key(void)
{
    lab.private_key[0]++;
    lab.primitives->cipher_key_set(&lab.key, lab.private_key);
}

static void mac_initiation(void)
{
    lab.primitives->mac(lab.tag, lab.mac_key, lab.body, 232);
}

static void agree(void)
{
    lab.private_key[0]++;
    (void)lab.primitives->agree(lab.out, lab.private_key, lab.public_key);
}

static void make_public(void)
{
    lab.private_key[0]++;
    lab.primitives->public_key(lab.out, lab.private_key);
}

static void hash_block_of_data(void)
{
    unsigned length;
    CHECK(EVP_Digest(lab.block, BLOCK_BYTES, lab.out, &length, EVP_sha256(), NULL) == 1);
}

static uint64_t thread_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static int by_size(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

/* Nanoseconds of one call, in hundredths: the median of many rounds. */
static uint64_t cost_of(void (*work)(void), unsigned turns, unsigned rounds)
{
    static uint64_t times[ROUNDS];
    for (unsigned round = 0; round < rounds; round++) {
        uint64_t begin_ns = thread_ns();
        for (unsigned turn = 0; turn < turns; turn++)
            work();
        times[round] = (thread_ns() - begin_ns) * 100 / turns;
    }
    qsort(times, rounds, sizeof(times[0]), by_size);
    return times[rounds / 2];
}

static void report_costs(struct report *report, const struct primitives *primitives)
{
    static const struct {
        const char *name;
        void (*work)(void);
        unsigned turns, rounds;
    } rows[] = {
        {"seal_1408_ns", seal_body, TURNS, ROUNDS},
        {"open_1408_ns", open_body, TURNS, ROUNDS},
        {"tag_64_ns", tag_64, TURNS, ROUNDS},
        {"tag_176_ns", tag_176, TURNS, ROUNDS},
        {"expand_key_ns", expand_key, TURNS, ROUNDS},
        {"mac_232_ns", mac_initiation, TURNS, ROUNDS},
        {"agree_ns", agree, 1, ROUNDS},
        {"public_key_ns", make_public, 1, ROUNDS},
        {"sha256_1mib_ns", hash_block_of_data, 1, ROUNDS},
    };
    lab.primitives = primitives;
    memset(&lab.key, 0, sizeof(lab.key));
    primitives->cipher_key_init(&lab.key);
    primitives->cipher_key_set(&lab.key, lab.private_key);
    report_object(report, primitives->name);
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        uint64_t hundredths = cost_of(rows[row].work, rows[row].turns, rows[row].rounds);
        report_u64(report, rows[row].name, (hundredths + 50) / 100);
    }
    report_object_end(report);
}

/* Of a datagram that is dropped, by the reason. */
static void report_refused(struct report *report, const struct primitives *primitives)
{
    static const struct {
        const char *name;
        bool known_address, right_mac;
    } rows[] = {
        {"unknown_address_ns", false, false}, {"wrong_mac_ns", true, false}, {"right_mac_ns", true, true}};
    refused_begin(primitives);
    report_object(report, "refused");
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        refused_set(rows[row].known_address, rows[row].right_mac);
        uint64_t hundredths = cost_of(refused_burst, 1, ROUNDS) / REFUSED_BURST;
        report_u64(report, rows[row].name, (hundredths + 50) / 100);
    }
    report_object_end(report);
    refused_end();
}

const struct primitives *bench_primitives(void)
{
    struct err err;
    const struct primitives *chosen = crypt_primitives(&err);
    if (chosen == NULL)
        bench_fail("seal", &err);
    return chosen;
}

int bench_seal(const struct bench_options *options)
{
    static struct bench_print print;
    const struct primitives *chosen = bench_primitives();
    crypt_random(lab.private_key, sizeof(lab.private_key));
    chosen->public_key(lab.public_key, lab.private_key);
    bench_print_begin(&print, options);
    report_text(&print.report, "chosen", chosen->name);
    if (crypt_multi_buffer() != NULL)
        report_costs(&print.report, crypt_multi_buffer());
    report_costs(&print.report, crypt_libcrypto());
    report_refused(&print.report, chosen);
    bench_print_end(&print);
    return 0;
}
