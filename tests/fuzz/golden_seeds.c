#include "golden_seeds.h"

#include "base/check.h"
#include "../wire/golden.h"

void golden_seeds(struct seeds *seeds, bool frames)
{
    struct golden golden;
    char path[4096];
    snprintf(path, sizeof(path), "%s/tests/wire/golden.txt", seeds->root);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    while (golden_next(file, &golden))
        if (golden_is_frame(&golden) == frames)
            seeds->emit(seeds, golden.name, golden.bytes, golden.length);
    fclose(file);
}
