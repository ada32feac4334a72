/* Who gives up his seat at the control socket. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "app/sluice/seats.h"

/* Seat number N is taken by users[N] at time 100 + N; '.': free. */
static void fill(struct seats *seats, const char *users)
{
    *seats = (struct seats){0};
    for (int index = 0; users[index] != '\0'; index++)
        if (users[index] != '.')
            seat_take(seats, index, (uint32_t)users[index], 100 + (uint64_t)index);
}

static void seat_for__table(void **state)
{
    (void)state;
    static const struct {
        const char *users; /* by seat; all were idle since they came */
        int used;          /* a seat in use at time 1000; -1: none */
        char user;         /* of the new client */
        int seat;
    } cases[] = {
        {"................", -1, 'a', 0},
        {"aaaa.aaaaaaaaaaa", -1, 'a', 4},
        {"aaaaaaaaaaaaaaaa", -1, 'a', 0},
        {"aaaaaaaaaaaaaaaa", 0, 'a', 1},
        {"aaaaaaaaaaaaaaaa", -1, 'b', 0},
        {"baaaaaaaaaaaaaaa", -1, 'a', 1}, /* who has most gives way, not who came first */
        {"baaaaaaaaaaaaaaa", -1, 'b', 1},
        {"bbbbbbbbaaaaaaaa", -1, 'a', 8}, /* the new one counts */
        {"bbbbbbbbaaaaaaaa", -1, 'b', 0},
        {"bbbbbbbbaaaaaaaa", -1, 'c', 0},
        {"bbbbbbbbaaaaaaaa", 0, 'c', 1},
        {"abcdefghijklmnop", -1, 'q', 0},
        {"abcdefghijklmnop", -1, 'p', 15},
    };
    for (size_t row = 0; row < sizeof(cases) / sizeof(cases[0]); row++) {
        struct seats seats;
        fill(&seats, cases[row].users);
        if (cases[row].used >= 0)
            seat_used(&seats, cases[row].used, 1000);
        assert_int_equal(seat_for(&seats, (uint32_t)cases[row].user), cases[row].seat);
    }
}

static void seat_longest_idle__table(void **state)
{
    (void)state;
    struct seats seats;
    fill(&seats, "................");
    assert_int_equal(seat_longest_idle(&seats), -1);
    fill(&seats, "...aba..........");
    assert_int_equal(seat_longest_idle(&seats), 3);
    seat_used(&seats, 3, 1000);
    assert_int_equal(seat_longest_idle(&seats), 4);
    seat_leave(&seats, 4);
    assert_int_equal(seat_longest_idle(&seats), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seat_for__table),
        cmocka_unit_test(seat_longest_idle__table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
