#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "probe/plot.h"
#include "probe/profile.h"
#include "queue_lab.h"

static struct lab lab;
static struct train_record record;
static struct plot plot;

static void send(const struct lab_path *path)
{
    struct profile profile = {40000000000, FULL_PACKET_WIRE_BYTES};
    struct train_shape shape;
    profile_contact(&profile, 10000000000, 32, 200, 0.1, &shape);
    lab_begin(&lab, path, 1);
    lab_send(&lab, &shape, 20000000, &record);
    lab_end(&lab);
    plot_begin(&plot, 0);
    plot_read(&plot, &record);
}

struct text {
    size_t bytes;
    char text[PLOT_BYTES_MAX];
};

static void append(void *user, const char *piece)
{
    struct text *text = user;
    size_t bytes = strlen(piece);
    assert_true(text->bytes + bytes < sizeof(text->text));
    memcpy(text->text + text->bytes, piece, bytes + 1);
    text->bytes += bytes;
}

static unsigned times(const char *text, const char *word)
{
    unsigned count = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        count++;
    return count;
}

/* Constant cross traffic lies on the line, to a packet; the busy part ends before the slow rates do. */
static void plot_dot__constant_cross_traffic_lies_on_the_line(void **state)
{
    (void)state;
    struct lab_path path = {.hop_count = 1, .hops = {{.rate = 10, .cross = 5}}};
    send(&path);
    assert_int_equal(plot.verdict, READING_GOOD);
    unsigned busy = 0;
    for (uint32_t i = 0; i < plot.points.count; i++) {
        struct plot_dot dot;
        plot_dot(&plot, i, &dot);
        assert_true(dot.delay_us >= 0);
        assert_true(i == 0 || dot.sent_us > 0);
        assert_true(fabs(dot.left_over) <= 1.5);
        busy += dot.busy;
        if (i == 3)
            assert_true(fabs(dot.rate_bps - 4e10) < 1e9);
    }
    assert_int_equal(busy, plot.reading.fit.steps);
    assert_true(busy > 100 && busy < plot.points.count);
}

static void plot_svg__is_a_picture_of_it(void **state)
{
    (void)state;
    static struct text text, again;
    struct lab_path path = {.hop_count = 1, .hops = {{.rate = 10, .cross = 5, .kind = LAB_POISSON}}};
    send(&path);
    text.bytes = again.bytes = 0;
    plot_svg(&plot, append, &text);
    plot_svg(&plot, append, &again);
    assert_string_equal(text.text, again.text);
    assert_true(strncmp(text.text, "<svg ", 5) == 0);
    assert_string_equal(text.text + text.bytes - 7, "</svg>\n");
    assert_int_equal(times(text.text, "h0"), plot.points.count + plot.reading.fit.steps);
    assert_int_equal(times(text.text, "<polyline"), 2);
    assert_int_equal(times(text.text, "<text"), times(text.text, "</text>"));
    assert_null(strstr(text.text, "nan"));
    assert_non_null(strstr(text.text, "capacity 10.000 Gbit/s"));
    const char *file = getenv("PLOT_FILE"); /* to look at */
    if (file != NULL) {
        FILE *stream = fopen(file, "w");
        assert_non_null(stream);
        fputs(text.text, stream);
        fclose(stream);
    }
}

/* What cannot be read is drawn as it is, or said. */
static void plot_svg__without_a_reading(void **state)
{
    (void)state;
    static struct text text;
    struct lab_path path = {.hop_count = 1, .hops = {{.rate = 10}}, .jitter_ns = 5e5, .after = true};
    send(&path);
    assert_int_equal(plot.verdict, READING_JITTER);
    plot_svg(&plot, append, &text);
    assert_non_null(strstr(text.text, "overtake each other"));
    record.marks = TRAIN_REANCHORED;
    plot_read(&plot, &record);
    text.bytes = 0;
    plot_svg(&plot, append, &text);
    assert_int_equal(times(text.text, "h0"), 0);
    assert_non_null(strstr(text.text, "too little"));
}

/* The longest train fits, with all of its points in the fit. */
static void plot_svg__of_the_longest_train(void **state)
{
    (void)state;
    static struct text text;
    struct lab_path path = {.hop_count = 1, .hops = {{.rate = 10, .cross = 5}}};
    struct train_shape shape = {.wire_bytes = 1538};
    assert_true(train_add(&shape, TRAIN_PACKETS_MAX, 9000000000));
    lab_begin(&lab, &path, 1);
    lab_send(&lab, &shape, 20000000, &record);
    lab_end(&lab);
    plot_begin(&plot, 0);
    plot_read(&plot, &record);
    text.bytes = 0;
    plot_svg(&plot, append, &text);
    assert_in_range(times(text.text, "h0"), 2 * TRAIN_PACKETS_MAX - 200, 2 * TRAIN_PACKETS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plot_dot__constant_cross_traffic_lies_on_the_line),
        cmocka_unit_test(plot_svg__is_a_picture_of_it),
        cmocka_unit_test(plot_svg__without_a_reading),
        cmocka_unit_test(plot_svg__of_the_longest_train),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
