#include "dpdk/resident.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "dpdk/compat.h"

#include <rte_memory.h>

#include "base/units.h"

#define MEMIF_NAME "/memfd:memif_region"

struct resident_range resident_parse(const char *line, const struct resident_range *before)
{
    struct resident_range range = {.kind = RESIDENT_NONE};
    unsigned long first, end;
    char mode[5] = "";
    int name = 0;
    if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %n", &first, &end, mode, &name) != 3 || name == 0)
        return range;
    range.first = first;
    range.end = end;
    if (strncmp(mode, "rw", 2) != 0)
        return range;
    const char *path = line + name;
    bool shared = mode[3] == 's', follows = before->kind == RESIDENT_DATA && before->end == first;
    if (shared)
        range.kind = strncmp(path, MEMIF_NAME, strlen(MEMIF_NAME)) == 0 ? RESIDENT_MEMIF : RESIDENT_NONE;
    else if (path[0] == '/' || strncmp(path, "[heap]", 6) == 0 || (path[0] == '\0' && follows))
        range.kind = RESIDENT_DATA;
    return range;
}

/* By the kernel alone, from 5.14 on: others write there at the same time, so that nobody may put back what he has
 * read (memory_populate would, on older ones). */
static void make_pages(void *first, uint64_t bytes)
{
    madvise(first, bytes, MADV_POPULATE_WRITE);
}

static void populate(enum resident_kind kind)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    struct resident_range range = {.kind = RESIDENT_NONE};
    char line[512];
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        range = resident_parse(line, &range);
        if (range.kind == kind)
            make_pages((void *)range.first, range.end - range.first);
    }
    if (maps != NULL)
        fclose(maps);
}

/* Huge pages are there since the EAL took them. */
static int populate_list(const struct rte_memseg_list *list, void *unused)
{
    (void)unused;
    if (list->external == 0 && list->page_sz <= (64 << 10))
        make_pages(list->base_va, list->len);
    return 0;
}

void resident_process(void)
{
    rte_memseg_list_walk(populate_list, NULL);
    populate(RESIDENT_DATA);
}

void resident_stack(void)
{
    volatile uint8_t bytes[RESIDENT_STACK_BYTES];
    for (size_t at = sizeof(bytes); at > 0; at -= MIN(at, (size_t)4096))
        bytes[at - 1] = 0;
}

void resident_memif(void)
{
    populate(RESIDENT_MEMIF);
}
