/* Which rosters count as the same. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "app/sluice/roster_hash.h"
#include "seal/insecure.h"

static struct app_config config;

static void give(struct app_keys *keys, const char *drawn)
{
    *keys = (struct app_keys){.line = 7};
    for (; drawn[keys->count] != '\0'; keys->count++)
        memset(keys->keys[keys->count], drawn[keys->count], SEAL_KEY_BYTES);
}

/* Sites as "name keys", each key a letter; the first one is this node. */
static uint64_t hash_of(const char *const sites[3])
{
    memset(&config, 0, sizeof(config));
    for (unsigned index = 0; index < 3; index++) {
        const char *keys = strchr(sites[index], ' ') + 1;
        char *name = index == 0 ? config.node.name : config.node.peers[index - 1].name;
        memcpy(name, sites[index], (size_t)(keys - 1 - sites[index]));
        give(index == 0 ? &config.own_keys : &config.peer_keys[index - 1], keys);
    }
    config.node.peer_count = 2;
    return roster_hash(&config, &insecure_primitives);
}

static void roster_hash__rows(void **state)
{
    static const struct {
        const char *sites[3];
        bool same;
    } rows[] = {
        {{"london a", "tokyo b", "oregon cd"}, true},   {{"tokyo b", "london a", "oregon cd"}, true},
        {{"oregon cd", "tokyo b", "london a"}, true},   {{"london a", "tokyo b", "oregon dc"}, false},
        {{"london a", "tokyo b", "oregon c"}, false},   {{"london b", "tokyo a", "oregon cd"}, false},
        {{"london a", "tokyob b", "oregon cd"}, false}, {{"london a", "tokyo be", "oregon cd"}, false},
    };
    (void)state;
    uint64_t first = hash_of(rows[0].sites);
    assert_true(first != 0);
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
        assert_int_equal(hash_of(rows[row].sites) == first, rows[row].same);
}

static void roster_hash__not_known(void **state)
{
    static const char *const sites[3] = {"london ", "tokyo b", "oregon c"};
    (void)state;
    assert_int_equal(hash_of(sites), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(roster_hash__rows),
                                       cmocka_unit_test(roster_hash__not_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
