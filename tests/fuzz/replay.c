/* Runs a fuzz target without libFuzzer, as a unit test in any build: all seeds, every truncation of them
 * (of long ones, a spread), random changes to them, then the inputs given by name (findings that stay in
 * corpus/). The changes come from one seed: the same in every run.
 *
 *     NAME_replay ROOT [FILE…]        runs; ROOT is the project's folder
 *     NAME_replay --write FOLDER ROOT writes the seeds, for libFuzzer's corpus */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "fuzz.h"

/* From this size on memory comes from the system: a target that asks for megabytes of zeros and touches little
 * of them must not wait for the C library to write them. */
#define FRESH_BYTES     (256 << 10)
#define CHANGED_INPUTS  500
#define CHANGES_MAX     4
#define TRUNCATIONS_MAX 512

struct replay {
    struct rng rng;
    unsigned seeds;
    const char *folder;
};

/* An own copy of the exact size, so that a sanitizer sees a read past its end. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);
    CHECK(copy != NULL);
    memcpy(copy + 1, data, size);
    LLVMFuzzerTestOneInput(copy + 1, size);
    free(copy);
}

static void change(struct rng *rng, uint8_t *data, size_t size)
{
    static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff};
    uint64_t changes = 1 + rng_below(rng, CHANGES_MAX);
    for (uint64_t done = 0; done < changes; done++) {
        uint8_t *byte = data + rng_below(rng, size);
        switch (rng_below(rng, 3)) {
        case 0:
            *byte ^= (uint8_t)(1 << rng_below(rng, 8));
            break;
        case 1:
            *byte = telling[rng_below(rng, sizeof(telling))];
            break;
        case 2:
            *byte = (uint8_t)rng_next(rng);
            break;
        }
    }
}

static void replay_seed(struct seeds *seeds, const char *name, const uint8_t *data, size_t size)
{
    struct replay *replay = seeds->context;
    (void)name;
    CHECK(size <= FUZZ_INPUT_MAX);
    replay->seeds++;
    size_t step = 1 + size / TRUNCATIONS_MAX;
    for (size_t length = 0; length < size; length += step)
        run(data, length);
    run(data, size);
    for (unsigned round = 0; round < seeds->changes && size > 0; round++) {
        static uint8_t changed[FUZZ_INPUT_MAX];
        memcpy(changed, data, size);
        change(&replay->rng, changed, size);
        run(changed, size);
    }
}

static void write_seed(struct seeds *seeds, const char *name, const uint8_t *data, size_t size)
{
    struct replay *replay = seeds->context;
    char path[4096];
    int length = snprintf(path, sizeof(path), "%s/%s", replay->folder, name);
    CHECK(length > 0 && (size_t)length < sizeof(path));
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0) {
        perror(path);
        exit(1);
    }
    replay->seeds++;
}

static void run_file(const char *path)
{
    static uint8_t data[FUZZ_INPUT_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    run(data, fread(data, 1, sizeof(data), file));
    fclose(file);
}

int main(int argc, char **argv)
{
    bool writes = argc == 4 && strcmp(argv[1], "--write") == 0;
    if (argc < 2 || (argv[1][0] == '-' && !writes)) {
        fprintf(stderr, "usage: %s ROOT [FILE...] | --write FOLDER ROOT\n", argv[0]);
        return 2;
    }
    mallopt(M_MMAP_THRESHOLD, FRESH_BYTES);
    struct replay replay = {.folder = writes ? argv[2] : NULL};
    rng_init(&replay.rng, 1);
    struct seeds seeds = {.root = argv[writes ? 3 : 1],
                          .context = &replay,
                          .changes = CHANGED_INPUTS,
                          .emit = writes ? write_seed : replay_seed};
    fuzz_seeds(&seeds);
    for (int index = 2; index < argc && !writes; index++)
        run_file(argv[index]);
    printf("%u seeds\n", replay.seeds);
    return replay.seeds == 0;
}
