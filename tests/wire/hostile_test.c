/* What peers that mean harm may put into well-formed messages: words that steer a terminal, rates that block
 * an edge for hours. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

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
    struct control_stream_end stream_end = {.fixed = {.reason = STREAM_END_DROPPED}};
    (void)state;
    memcpy(confirm.text, hostile, sizeof(hostile));
    memcpy(status.text, hostile, sizeof(hostile));
    memcpy(close_job.text, hostile, sizeof(hostile));
    memcpy(stream_end.text, hostile, sizeof(hostile));
    assert_int_equal(control_confirm_decode(body, control_confirm_encode(body, &confirm), &confirm), WIRE_OK);
    assert_string_equal(confirm.text, harmless);
    assert_int_equal(control_status_decode(body, control_status_encode(body, &status), &status), WIRE_OK);
    assert_string_equal(status.text, harmless);
    size_t length = control_close_job_encode(body, &close_job);
    assert_int_equal(control_close_job_decode(body, length, &close_job), WIRE_OK);
    assert_string_equal(close_job.text, harmless);
    length = control_stream_end_encode(body, &stream_end);
    assert_int_equal(control_stream_end_decode(body, length, &stream_end), WIRE_OK);
    assert_string_equal(stream_end.text, harmless);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_decode__texts_steer_no_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
