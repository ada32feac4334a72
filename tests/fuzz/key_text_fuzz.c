/* Keys as text: a text that is taken is the one text of its key, of that kind alone; of any other no byte is left. */
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "fuzz.h"
#include "seal/key_text.h"

static const uint8_t zeros[SEAL_KEY_BYTES];

static void check_public(const char *text)
{
    uint8_t key[SEAL_KEY_BYTES];
    char back[KEY_TEXT_BYTES];
    enum key_text_fault fault = key_text_read_public(key, text);
    CHECK(strlen(key_text_fault_words(fault)) > 0 || fault == KEY_TEXT_GOOD);
    if (fault != KEY_TEXT_GOOD) {
        CHECK(memcmp(key, zeros, sizeof(key)) == 0);
        return;
    }
    key_text_public(back, key);
    CHECK(strcmp(back, text) == 0);
    key_is_low_order(key);
    CHECK(key_text_read_private(key, text) == KEY_TEXT_WRONG_KIND);
}

static void check_private(const char *text)
{
    uint8_t key[SEAL_KEY_BYTES];
    char back[KEY_TEXT_PRIVATE_BYTES];
    if (key_text_read_private(key, text) != KEY_TEXT_GOOD) {
        CHECK(memcmp(key, zeros, sizeof(key)) == 0);
        return;
    }
    key_text_private(back, key);
    CHECK(strcmp(back, text) == 0);
    CHECK(key_text_read_public(key, text) == KEY_TEXT_WRONG_KIND);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = calloc(1, size + 1); /* of its size: nothing may be read beyond */
    CHECK(text != NULL);
    if (size > 0)
        memcpy(text, data, size);
    check_public(text);
    check_private(text);
    free(text);
    return 0;
}

void fuzz_seeds(struct seeds *seeds)
{
    uint8_t key[SEAL_KEY_BYTES];
    char public_text[KEY_TEXT_BYTES], private_text[KEY_TEXT_PRIVATE_BYTES];
    for (unsigned at = 0; at < sizeof(key); at++)
        key[at] = (uint8_t)(at * 37 + 1);
    key_text_public(public_text, key);
    key_text_private(private_text, key);
    CHECK(key_text_read_public(key, public_text) == KEY_TEXT_GOOD);
    CHECK(key_text_read_private(key, private_text) == KEY_TEXT_GOOD);
    seeds->emit(seeds, "public", (const uint8_t *)public_text, strlen(public_text));
    seeds->emit(seeds, "private", (const uint8_t *)private_text, strlen(private_text));
}
