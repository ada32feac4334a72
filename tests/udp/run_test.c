#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "udp/run.h"

#define TEXT_BYTES 4096

static struct runs runs;

/* "a3000" is a packet of 3000 bytes to a; "A" is a's other traffic class, "a!" leaves alone. */
static void add(const char *text)
{
    uint16_t place = 0;
    runs_begin(&runs);
    for (const char *word = text; *word != '\0'; word += strcspn(word, " ") + (strchr(word, ' ') != NULL)) {
        struct run_packet packet = {.peer = (uint16_t)((word[0] | 0x20) - 'a'),
                                    .class = word[0] < 'a',
                                    .place = place++,
                                    .alone = word[1] == '!'};
        packet.bytes = (uint32_t)strtoul(word + 1 + packet.alone, NULL, 10);
        runs_add(&runs, &packet);
    }
}

/* Places of the packets, runs apart: "0 2|1". */
static const char *given(uint16_t packets_max)
{
    static char text[TEXT_BYTES];
    uint16_t places[RUN_PACKETS_MAX], count;
    size_t length = 0;
    text[0] = '\0';
    while ((count = runs_next(&runs, places, packets_max)) > 0)
        for (uint16_t index = 0; index < count; index++)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%u",
                                       length == 0  ? ""
                                       : index == 0 ? "|"
                                                    : " ",
                                       places[index]);
    return text;
}

static void run__is_of_one_peer_class_and_size(void **state)
{
    static const struct {
        const char *packets, *runs;
    } rows[] = {
        {"", ""},
        {"a100", "0"},
        {"a100 a100 a100", "0 1 2"},
        {"a100 b100 a100 b100", "0 2|1 3"},
        {"a100 a50 a100", "0 1|2"},   /* a shorter one ends it */
        {"a50 a100 a100", "0|1 2"},   /* a longer one begins another */
        {"a100 A100 a100", "0|1|2"},  /* order is kept over the classes of a peer */
        {"a100 a!100 a100", "0|1|2"}, /* what leaves alone does, where it stands */
        {"a!100 b100 a!100 b100", "0|1 3|2"},
        {"a30000 a30000 a30000", "0 1|2"}, /* 64 KB in all */
        {"a65507 a65507", "0|1"},
    };
    (void)state;
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        add(rows[row].packets);
        assert_string_equal(given(RUN_PACKETS_MAX), rows[row].runs);
    }
}

static void run__has_no_more_packets_than_a_kernel_cuts(void **state)
{
    uint16_t places[RUN_PACKETS_MAX];
    (void)state;
    runs_begin(&runs);
    for (uint16_t place = 0; place < RUN_WAITING_MAX; place++)
        runs_add(&runs, &(struct run_packet){.place = place, .bytes = 100});
    for (int run = 0; run < RUN_WAITING_MAX / RUN_PACKETS_MAX; run++) {
        assert_int_equal(runs_next(&runs, places, RUN_PACKETS_MAX), RUN_PACKETS_MAX);
        assert_int_equal(places[0], run * RUN_PACKETS_MAX);
    }
    assert_int_equal(runs_next(&runs, places, RUN_PACKETS_MAX), 0);
}

static void run__is_one_packet_where_the_kernel_cuts_none(void **state)
{
    (void)state;
    add("a100 b100 a100");
    assert_string_equal(given(1), "0|1|2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(run__is_of_one_peer_class_and_size),
        cmocka_unit_test(run__has_no_more_packets_than_a_kernel_cuts),
        cmocka_unit_test(run__is_one_packet_where_the_kernel_cuts_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
