#include "app/sluice/picture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/ctl.h"
#include "probe/plot.h"

static union {
    struct plot_train train;
    char text[CTL_REPLY_BYTES];
} shown;

/* That many packets of 10 Gbit/s, each a packet's time later than the one before: a queue that grows. */
static size_t train_of(uint32_t count)
{
    shown.train = (struct plot_train){
        .capacity_bps = 5000000000,
        .record = {.shape = {.wire_bytes = 1250, .piece_count = 1}, .sent = count, .count = count}};
    shown.train.record.shape.pieces[0] = (struct train_piece){.packets = count, .rate_bps = 10000000000};
    for (uint32_t index = 0; index < count; index++)
        shown.train.record.samples[index] = (struct train_sample){
            .sent_ns = 1000 * index, .received_ns = 1000000 + 2000 * index, .index = index, .arrival = index};
    return plot_train_bytes(&shown.train);
}

static void picture__takes_the_place_of_the_train(void **state)
{
    (void)state;
    static const uint32_t counts[] = {0, 1, 100, TRAIN_PACKETS_MAX};
    for (size_t row = 0; row < sizeof(counts) / sizeof(counts[0]); row++) {
        assert_true(picture_of_train(shown.text, train_of(counts[row]), sizeof(shown.text)));
        assert_true(strncmp(shown.text, "<svg ", 5) == 0);
        assert_non_null(strstr(shown.text, "</svg>"));
    }
    assert_true(picture_of_train(shown.text, train_of(100), sizeof(shown.text)));
    assert_non_null(strstr(shown.text, ">100 points of a train; 0 lost"));
}

static void picture__without_room(void **state)
{
    (void)state;
    assert_false(picture_of_train(shown.text, train_of(100), 1000));
    assert_string_equal(shown.text, "the picture is longer than 1000 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(picture__takes_the_place_of_the_train),
                                       cmocka_unit_test(picture__without_room)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
