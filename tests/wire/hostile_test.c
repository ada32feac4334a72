/* What peers that mean harm may put into well-formed messages: words that steer a terminal, rates that block
 * an edge for hours. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"
#include "wire/close.h"
#include "wire/control.h"

static const char hostile[] = "gone\x1b[2J\r\nall jobs done \xc2\x9b"
                              "31m \xff caf\xc3\xa9";
static const char harmless[] = "gone?[2J??all jobs done ??31m ? caf\xc3\xa9";

static void control_decode__texts_steer_no_terminal(void **state)
{
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    struct control_confirm confirm = {.fixed = {.answer = CONFIRM_REFUSED}};
    struct control_status status = {.fixed = {.laggard = UINT8_MAX}};
    struct control_close_job close_job = {.fixed = {.outcome = CLOSE_FAILED}};
    struct control_let_go let_go = {.fixed = {.child = 1}};
    (void)state;
    memcpy(confirm.text, hostile, sizeof(hostile));
    memcpy(status.text, hostile, sizeof(hostile));
    memcpy(close_job.text, hostile, sizeof(hostile));
    memcpy(let_go.text, hostile, sizeof(hostile));
    assert_int_equal(control_confirm_decode(body, control_confirm_encode(body, &confirm), &confirm), WIRE_OK);
    assert_string_equal(confirm.text, harmless);
    assert_int_equal(control_status_decode(body, control_status_encode(body, &status), &status), WIRE_OK);
    assert_string_equal(status.text, harmless);
    size_t length = control_close_job_encode(body, &close_job);
    assert_int_equal(control_close_job_decode(body, length, &close_job), WIRE_OK);
    assert_string_equal(close_job.text, harmless);
    length = control_let_go_encode(body, &let_go);
    assert_int_equal(control_let_go_decode(body, length, &let_go), WIRE_OK);
    assert_string_equal(let_go.text, harmless);
}

static void control_decode__rates_have_a_floor(void **state)
{
    static const struct {
        uint64_t bps;
        enum wire_error expected;
    } rows[] = {{0, WIRE_OK},
                {1, WIRE_BAD_VALUE},
                {999, WIRE_BAD_VALUE},
                {SEND_RATE_MIN_BPS, WIRE_OK},
                {UINT64_MAX, WIRE_OK}};
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    (void)state;
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        struct wire_adjust adjust = {.rate_cap_bps = rows[row].bps};
        size_t length = control_adjust_encode(body, &adjust);
        assert_int_equal(control_adjust_decode(body, length, &adjust), rows[row].expected);
        enum wire_error interface = rows[row].bps == 0 ? WIRE_BAD_VALUE : rows[row].expected;
        for (int down = 0; down < 2; down++) {
            struct control_measurement report = {
                .fixed = {.up_bps = down ? 1000 : rows[row].bps, .down_bps = down ? rows[row].bps : 1000}};
            length = control_measurement_encode(body, &report);
            assert_int_equal(control_measurement_decode(body, length, &report), interface);
        }
        struct control_part part = {
            .fixed = {.source = {"a"}, .job_name = {"j"}, .stripes = 1, .start_bps = rows[row].bps}};
        length = control_part_encode(body, &part);
        assert_int_equal(control_part_decode(body, length, &part), rows[row].expected);
        struct control_tree tree = {.fixed = {.weight = 1, .child_count = 1},
                                    .children = {{.name = {"b"}, .rate_bps = rows[row].bps}}};
        length = control_tree_encode(body, &tree);
        assert_int_equal(control_tree_decode(body, length, &tree), rows[row].expected);
    }
}

/* A close names the session that it ends: without one it would be anybody's. */
static void header_decode__close_has_a_session(void **state)
{
    uint8_t out[WIRE_CLOSE_BYTES];
    struct wire_close close = {.reason = WIRE_CLOSE_SHUTDOWN};
    (void)state;
    for (uint32_t session = 0; session < 2; session++) {
        struct wire_header header = {.version = WIRE_VERSION, .type = WIRE_CLOSE, .session = session};
        size_t length = wire_close_encode(out, &header, &close);
        assert_int_equal(wire_header_decode(out, length, &header), session == 0 ? WIRE_BAD_VALUE : WIRE_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_decode__texts_steer_no_terminal),
        cmocka_unit_test(control_decode__rates_have_a_floor),
        cmocka_unit_test(header_decode__close_has_a_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
