/* What the simulator's planners remember: each host's own, in virtual time, until the run is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "../plan/example.h"
#include "app/sim/recall.h"
#include "base/units.h"

static void recall__each_host_its_own(void **state)
{
    (void)state;
    struct ctl_estimate told = {
        .from = "n0",
        .to = "n1",
        .age_ns = NS_PER_S,
        .estimate = {
            .kind = ESTIMATE_VALUE, .avail_bps = 400000000, .low_bps = 390000000, .high_bps = 410000000}};
    struct plan_request request = example_request(3), other = request;
    recall_learn(0, &told, 0); /* older than the run */
    recall_complete(0, &request, 10 * NS_PER_S);
    recall_complete(1, &other, 10 * NS_PER_S);
    assert_int_equal(request.paths[0][1].avb_kbps, 400000);
    assert_true(request.paths[0][1].avb_low_kbps < 390000);
    assert_int_equal(other.paths[0][1].avb_kbps, 0);
    recall_end();
    request = example_request(3);
    recall_complete(0, &request, 10 * NS_PER_S);
    assert_int_equal(request.paths[0][1].avb_kbps, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recall__each_host_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
