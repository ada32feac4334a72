/* No nonce twice under a key: found at once by what simulations seal with, among all that may come again. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "sizes/nonces.h"
#include "sizes/sizes.h"

static const uint8_t body[8] = "the body";

/* As packets are sealed: a header beside the text; bodies: none. */
static void seal(uint8_t key_byte, uint64_t number, const char *header, const uint8_t *text)
{
    static const uint8_t iv[SEAL_NONCE_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0xa7};
    struct cipher_key key;
    uint8_t bytes[SEAL_KEY_BYTES] = {key_byte}, nonce[SEAL_NONCE_BYTES], out[sizeof(body)],
            tag[SEAL_TAG_BYTES];
    memcpy(nonce, iv, sizeof(nonce));
    store_be64(nonce + 4, load_be64(iv + 4) ^ number);
    sizes_primitives.cipher_key_init(&key);
    sizes_primitives.cipher_key_set(&key, bytes);
    sizes_primitives.seal(&key, nonce, (struct seal_bytes){(const uint8_t *)header, strlen(header)}, text,
                          sizeof(body), out, tag);
}

/* Whether it ends the program, tried in a copy of it. */
static bool ends(uint8_t key_byte, uint64_t number, const char *header, const uint8_t *text)
{
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct rlimit no_core = {0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        close(STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        seal(key_byte, number, header, text);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static int forget(void **state)
{
    (void)state;
    nonces_forget();
    return 0;
}

static void nonces__of_packets_come_once(void **state)
{
    (void)state;
    const uint64_t first = (1ULL << 32) - 1000, last = first + 100000;
    for (uint64_t number = first; number <= last; number++)
        seal(1, number, "header", body);
    for (uint64_t number = first; number <= last; number += 3331) {
        assert_true(ends(1, number, "header", body));
        assert_true(ends(1, number, "Header", body));
        assert_false(ends(2, number, "header", body));
    }
    assert_false(ends(1, first - 1, "header", body));
    assert_false(ends(1, last + 1, "header", body));
}

static void nonces__of_bodies_have_one_text(void **state)
{
    (void)state;
    const uint8_t changed[sizeof(body)] = "The body";
    for (uint64_t number = 0; number < 1000; number++)
        seal(1, number, "", body);
    for (uint64_t number = 0; number < 1000; number += 111) {
        assert_false(ends(1, number, "", body));
        assert_true(ends(1, number, "", changed));
        assert_true(ends(1, number, "header", body));
    }
}

/* Of as many keys as there are pages, the oldest makes room. */
static void nonces__newest_are_known(void **state)
{
    (void)state;
    uint8_t key[SEAL_KEY_BYTES] = {0}, nonce[SEAL_NONCE_BYTES] = {0};
    seal(1, 0, "header", body);
    seal(2, 0, "header", body);
    for (uint32_t count = 0; count < 3 * NONCES_PAGES - 1; count++) {
        store_be32(key, count);
        nonces_use(key, nonce, count, NONCES_ONCE);
        if (count == NONCES_PAGES - 2) {
            assert_false(ends(1, 0, "header", body));
            assert_true(ends(2, 0, "header", body));
        }
    }
    seal(1, 0, "header", body);
    assert_true(ends(1, 0, "header", body));
    nonces_forget();
    assert_false(ends(1, 0, "header", body));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nonces__of_packets_come_once, forget),
        cmocka_unit_test_setup(nonces__of_bodies_have_one_text, forget),
        cmocka_unit_test_setup(nonces__newest_are_known, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
