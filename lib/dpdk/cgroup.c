#include "dpdk/cgroup.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define PATH_MAX_BYTES 1024

/* Where the files of a version lie, and their names. */
struct version {
    const char *folder, *limit, *used, *cache;
};

static const struct version versions[] = {
    {"/sys/fs/cgroup", "memory.max", "memory.current", "file "},
    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache "},
};

/* "max", or nothing there: UINT64_MAX. */
static uint64_t read_number(const char *group, const char *file)
{
    char path[PATH_MAX_BYTES + 64];
    unsigned long long number;
    snprintf(path, sizeof(path), "%s/%s", group, file);
    FILE *stream = fopen(path, "r");
    bool got = stream != NULL && fscanf(stream, "%llu", &number) == 1;
    if (stream != NULL)
        fclose(stream);
    return got ? number : UINT64_MAX;
}

static uint64_t read_cache(const char *group, const char *key)
{
    char path[PATH_MAX_BYTES + 64], line[128];
    unsigned long long number = 0;
    snprintf(path, sizeof(path), "%s/memory.stat", group);
    FILE *stream = fopen(path, "r");
    while (stream != NULL && fgets(line, sizeof(line), stream) != NULL)
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%llu", &number) == 1)
            break;
    if (stream != NULL)
        fclose(stream);
    return number;
}

static uint64_t group_bytes(const struct version *version, const char *group)
{
    uint64_t limit = read_number(group, version->limit), used = read_number(group, version->used);
    if (limit == UINT64_MAX || used == UINT64_MAX)
        return UINT64_MAX;
    uint64_t kept = used - MIN(used, read_cache(group, version->cache));
    return limit - MIN(limit, kept);
}

/* `own`: of this process, "/" or "/a/b"; in a container it may name what is not there. */
static uint64_t least(const char *root, const struct version *version, const char *own)
{
    char group[PATH_MAX_BYTES];
    size_t top = (size_t)snprintf(group, sizeof(group), "%s%s", root, version->folder);
    snprintf(group + top, sizeof(group) - top, "%s", own);
    uint64_t bytes = UINT64_MAX;
    for (;;) {
        bytes = MIN(bytes, group_bytes(version, group));
        char *slash = strrchr(group + top, '/');
        if (slash == NULL)
            return bytes;
        *slash = '\0';
    }
}

uint64_t cgroup_memory_bytes(const char *root)
{
    char path[PATH_MAX_BYTES], line[PATH_MAX_BYTES / 2];
    uint64_t bytes = UINT64_MAX;
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    FILE *stream = fopen(path, "r");
    while (stream != NULL && fgets(line, sizeof(line), stream) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *controllers = strchr(line, ':');
        const char *own = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (own == NULL)
            continue;
        if (own == controllers + 1)
            bytes = MIN(bytes, least(root, &versions[0], own + 1));
        else if (strncmp(controllers, ":memory", 7) == 0)
            bytes = MIN(bytes, least(root, &versions[1], own + 1));
    }
    if (stream != NULL)
        fclose(stream);
    return bytes;
}
