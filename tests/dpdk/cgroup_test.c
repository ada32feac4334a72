#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <sys/stat.h>

#include "dpdk/cgroup.h"

#define FILES 8

static char root[] = "/tmp/sluice-cgroup-XXXXXX";

static void write_file(const char *path, const char *content)
{
    char whole[256];
    snprintf(whole, sizeof(whole), "%s%s", root, path);
    for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        mkdir(whole, 0755);
    }
    FILE *file = fopen(whole, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static void remove_all(void)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s/*", root);
    assert_int_equal(system(command), 0);
}

static void cgroup__leaves_the_least_of_all_groups_above(void **state)
{
    static const struct {
        const char *files[FILES][2];
        uint64_t bytes;
    } rows[] = {
        {{{NULL}}, UINT64_MAX},
        {{{"/proc/self/cgroup", "0::/\n"}}, UINT64_MAX},
        {{{"/proc/self/cgroup", "0::/a/b\n"},
          {"/sys/fs/cgroup/a/b/memory.max", "max\n"},
          {"/sys/fs/cgroup/a/b/memory.current", "10\n"},
          {"/sys/fs/cgroup/a/memory.max", "1000\n"},
          {"/sys/fs/cgroup/a/memory.current", "400\n"},
          {"/sys/fs/cgroup/a/memory.stat", "anon 100\nfile 300\n"}},
         900},
        /* A container sees itself at the top. */
        {{{"/proc/self/cgroup", "0::/\n"},
          {"/sys/fs/cgroup/memory.max", "1000\n"},
          {"/sys/fs/cgroup/memory.current", "1200\n"}},
         0},
        {{{"/proc/self/cgroup", "5:cpu:/\n4:memory:/x\n0::/\n"},
          {"/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "5000\n"},
          {"/sys/fs/cgroup/memory/x/memory.usage_in_bytes", "3000\n"},
          {"/sys/fs/cgroup/memory/x/memory.stat", "cache 1\ntotal_cache 1000\n"}},
         3000},
    };
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        for (int file = 0; file < FILES && rows[row].files[file][0] != NULL; file++)
            write_file(rows[row].files[file][0], rows[row].files[file][1]);
        assert_int_equal(cgroup_memory_bytes(root), rows[row].bytes);
        remove_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(cgroup__leaves_the_least_of_all_groups_above)};
    assert_non_null(mkdtemp(root));
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_all();
    remove(root);
    return failed;
}
