/* Matrices of available bandwidth by names of sites. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "conf/avb_file.h"
#include "conf/conf.h"

static struct ctl_paths paths;

static bool parse(const char *text, struct err *err)
{
    static char copy[8192];
    assert_true(strlen(text) < sizeof(copy));
    strcpy(copy, text);
    memset(&paths, 0, sizeof(paths));
    return avb_parse(copy, "x", &paths, err);
}

/* Beside what is known of bandwidth; sites that only one of them names are there, too. */
static void distance_parse__adds_to_a_matrix(void **state)
{
    (void)state;
    struct err err;
    char text[] = "f,c,a\na,638.5,0\nd,0,\n", bad[] = "f,a\nc,far\n";
    if (!parse("f,a,b\na,0,7\n", &err) || !distance_parse(text, "y", &paths, &err))
        fail_msg("%s", err.text);
    static const uint32_t distance[4][4] = {[0][2] = 638500, [3][2] = 1};
    assert_int_equal(paths.site_count, 4);
    for (unsigned from = 0; from < 4; from++)
        for (unsigned to = 0; to < 4; to++) {
            assert_int_equal(paths.paths[from][to].distance, distance[from][to]);
            assert_int_equal(paths.paths[from][to].avb_kbps, from == 0 && to == 1 ? 7000 : 0);
        }
    assert_string_equal(paths.sites[2].name, "c");
    assert_false(distance_parse(bad, "y", &paths, &err));
    assert_string_equal(err.text, "y:2: \"far\" in the column of a, expected a distance");
}

static void avb_parse__takes_a_matrix(void **state)
{
    (void)state;
    struct err err;
    if (!parse("# what was measured\nfrom\\to, a ,b\r\n\nb,90.5,7\nc, 0 ,\na,1,0.000001\n", &err))
        fail_msg("%s", err.text);
    static const char *const names[] = {"a", "b", "c"};
    static const uint32_t kbps[3][3] = {{0, 1, 0}, {90500, 0, 0}, {1, 0, 0}};
    assert_int_equal(paths.site_count, 3);
    assert_int_equal(paths.shared_count, 0);
    for (unsigned from = 0; from < 3; from++) {
        assert_string_equal(paths.sites[from].name, names[from]);
        for (unsigned to = 0; to < 3; to++) {
            assert_int_equal(paths.paths[from][to].avb_kbps, kbps[from][to]);
            assert_int_equal(paths.paths[from][to].avb_low_kbps, kbps[from][to]);
            assert_int_equal(paths.paths[from][to].avb_high_kbps, kbps[from][to]);
        }
    }
}

static void avb_parse__says_what_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"", "x: empty: expected a row from\\to,name,…"},
        {"# nothing\n", "x: empty: expected a row from\\to,name,…"},
        {"from\n", "x:1: no columns: expected from\\to,name,…"},
        {"f,a,a\n", "x:1: a is there twice"},
        {"f,a,\n", "x:1: \"\" is not a name"},
        {"f,a b\n", "x:1: \"a b\" is not a name"},
        {"f,a,b\n,1,2\n", "x:2: \"\" is not a name"},
        {"f,a,b\na,1\n", "x:2: 1 columns, the header has 2"},
        {"f,a,b\na,0,2,3\n", "x:2: 3 columns, the header has 2"},
        {"f,a,b\nb,1,0\n# again\nb,1,0\n", "x:4: a second row of b"},
        {"f,a,b\nb,x,0\n", "x:2: \"x\" in the column of a, expected a rate in Mbit/s"},
        {"f,a,b\nb,-1,0\n", "x:2: \"-1\" in the column of a, expected a rate in Mbit/s"},
        {"f,a,b\nb,1000001,0\n", "x:2: \"1000001\" in the column of a, expected a rate in Mbit/s"},
    };
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct err err;
        assert_false(parse(rows[row].text, &err));
        assert_string_equal(err.text, rows[row].message);
    }
}

static void avb_parse__bounds_the_sites(void **state)
{
    (void)state;
    char text[1024] = "f";
    struct err err;
    for (unsigned site = 0; site <= PLAN_NODES_MAX; site++) {
        assert_int_equal(parse(text, &err), site > 0);
        snprintf(text + strlen(text), sizeof(text) - strlen(text), ",s%u", site);
    }
    assert_false(parse(text, &err));
    assert_string_equal(err.text, "x:1: more than 64 sites");
}

static void conf_read_paths__names_a_file_that_is_not_there(void **state)
{
    (void)state;
    struct err err;
    assert_true(conf_read_paths("", "", &paths, &err));
    assert_int_equal(paths.site_count, 0);
    assert_false(conf_read_paths("/nowhere/avb.csv", "", &paths, &err));
    assert_string_equal(err.text, "plan.avb: /nowhere/avb.csv: No such file or directory");
    assert_false(conf_read_paths("", "/nowhere/km.csv", &paths, &err));
    assert_string_equal(err.text, "plan.distance: /nowhere/km.csv: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(avb_parse__takes_a_matrix),
        cmocka_unit_test(distance_parse__adds_to_a_matrix),
        cmocka_unit_test(avb_parse__says_what_is_wrong),
        cmocka_unit_test(avb_parse__bounds_the_sites),
        cmocka_unit_test(conf_read_paths__names_a_file_that_is_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
