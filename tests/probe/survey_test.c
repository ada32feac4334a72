/* Whom a survey asks and when, with nodes that answer, refuse, fall silent and come back; time is a variable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/units.h"
#include "probe/survey.h"

#define NODES_MAX  8
#define ASKS_MAX   512
#define SLOT_NS    (200 * NS_PER_MS)
#define GUARD_NS   (10 * NS_PER_MS)
#define LEAD_NS    (50 * NS_PER_MS)
#define TIMEOUT_NS (2 * NS_PER_S)
#define REPLY_NS   (40 * NS_PER_MS) /* behind the slot's end */
#define BEGIN_NS   NS_PER_S

struct asked {
    struct rotation_train turn;
    uint64_t due_ns; /* of its answer; 0: it was taken */
};

static struct survey survey;
static struct known known[NODES_MAX * NODES_MAX];
static struct asked asks[ASKS_MAX];
static unsigned ask_count;
/* What the nodes do. */
static uint64_t dead_mask, refusing_mask; /* bit per node: answers nothing; answers that it will not */
static uint64_t vain_mask;                /* bit per node: trains to it tell nothing, and why … */
static unsigned vain_left;                /* … so many of them */
static uint64_t half_bps;                 /* of what one measurement finds */
static uint64_t stop_ns;

/* Every path into node 0 has 1 Gbit/s, into the others 9 and a bit less from the senders further on. */
static struct estimate estimate_of(uint16_t from, uint16_t to)
{
    uint64_t avail_bps = to == 0 ? 1000000000 : 9000000000 - from * UINT64_C(1000000000);
    return (struct estimate){.kind = ESTIMATE_VALUE,
                             .avail_bps = avail_bps,
                             .low_bps = avail_bps - half_bps,
                             .high_bps = avail_bps + half_bps,
                             .capacity_bps = 10000000000,
                             .trains = 2,
                             .bytes = 1000000};
}

static struct survey_goal goal_of(uint16_t count, uint32_t passes)
{
    struct survey_goal goal = {.rotation = {.node_count = count,
                                            .passes = passes,
                                            .train_ns = SLOT_NS,
                                            .train_bytes = 1500000,
                                            .train_bps = 10000000000,
                                            .guard_ns = GUARD_NS,
                                            .timeout_ns = TIMEOUT_NS},
                               .lead_ns = LEAD_NS,
                               .trains = 4,
                               .keep = 2,
                               .coarse_bps = 500000000,
                               .fine_bps = 100000000,
                               .port_bps = 10000000000};
    for (uint16_t node = 0; node < count; node++)
        goal.rotation.group_of[node] = node;
    return goal;
}

static void begin(const struct survey_goal *goal)
{
    struct err err;
    memset(known, 0, sizeof(known));
    ask_count = 0;
    if (!survey_begin(&survey, goal, known, BEGIN_NS, &err))
        fail_msg("%s", err.text);
}

static bool is_dead(const struct rotation_train *turn)
{
    return ((dead_mask >> turn->from | dead_mask >> turn->to) & 1) != 0;
}

static void answer(struct asked *asked, uint64_t now_ns)
{
    struct estimate estimate = estimate_of(asked->turn.from, asked->turn.to);
    static const struct estimate vain = {
        .kind = ESTIMATE_REFUSED, .reason = ESTIMATE_DEPARTURES, .discarded = 3, .bytes = 1000000};
    bool refused = ((refusing_mask >> asked->turn.from | refusing_mask >> asked->turn.to) & 1) != 0;
    asked->due_ns = 0;
    if (is_dead(&asked->turn))
        survey_take(&survey, asked->turn.from, asked->turn.to, SURVEY_SILENT, NULL, now_ns);
    else if (refused)
        survey_take(&survey, asked->turn.from, asked->turn.to, SURVEY_REFUSED, NULL, now_ns);
    else if ((vain_mask >> asked->turn.to & 1) != 0 && vain_left > 0) {
        vain_left--;
        survey_take(&survey, asked->turn.from, asked->turn.to, SURVEY_NOTHING, &vain, now_ns);
    } else
        survey_take(&survey, asked->turn.from, asked->turn.to, SURVEY_ESTIMATE, &estimate, now_ns);
}

/* The answer that comes first; NULL: none is under way. */
static struct asked *next_answer(void)
{
    struct asked *first = NULL;
    for (unsigned index = 0; index < ask_count; index++)
        if (asks[index].due_ns != 0 && (first == NULL || asks[index].due_ns < first->due_ns))
            first = &asks[index];
    return first;
}

/* As a node does it: asks when there is something to ask, takes answers as they come. Returns the time of its end. */
static uint64_t drive(void)
{
    uint64_t now_ns = BEGIN_NS;
    for (unsigned steps = 0;; steps++) {
        struct rotation_train turn;
        assert_true(steps < 100000);
        if (stop_ns != 0 && now_ns >= stop_ns)
            survey_stop(&survey, now_ns);
        enum survey_step step = survey_next(&survey, now_ns, &turn);
        if (step == SURVEY_DONE)
            return now_ns;
        if (step == SURVEY_ASK) {
            assert_true(ask_count < ASKS_MAX && turn.at_ns >= now_ns && turn.at_ns <= now_ns + LEAD_NS);
            uint64_t late_ns = is_dead(&turn) ? TIMEOUT_NS : REPLY_NS;
            asks[ask_count++] = (struct asked){turn, turn.at_ns + SLOT_NS + late_ns};
            continue;
        }
        struct asked *first = next_answer();
        assert_true(first != NULL || turn.at_ns != TIME_NEVER); /* nobody is stuck */
        uint64_t next_ns = MAX(MIN(turn.at_ns, first != NULL ? first->due_ns : TIME_NEVER), now_ns);
        now_ns = stop_ns > now_ns ? MIN(next_ns, stop_ns) : next_ns;
        if (first != NULL && first->due_ns <= now_ns)
            answer(first, now_ns);
    }
}

static void reset(void)
{
    dead_mask = refusing_mask = vain_mask = stop_ns = 0;
    half_bps = 50000000;
}

/* No two measurements of one sender, or of one receiver, overlap. */
static void check_slots(void)
{
    for (unsigned one = 0; one < ask_count; one++)
        for (unsigned other = one + 1; other < ask_count; other++) {
            const struct rotation_train *a = &asks[one].turn, *b = &asks[other].turn;
            if (a->from != b->from && a->to != b->to)
                continue;
            uint64_t apart_ns = MAX(a->at_ns, b->at_ns) - MIN(a->at_ns, b->at_ns);
            assert_true(apart_ns >= SLOT_NS + GUARD_NS);
        }
}

/* Each pair once where once is enough; rounds do not wait for each other's answers. */
static void survey__asks_each_pair_once(void **state)
{
    (void)state;
    reset();
    struct survey_goal goal = goal_of(6, 4);
    begin(&goal);
    uint64_t end_ns = drive();
    struct survey_progress progress = survey_progress(&survey, end_ns);
    assert_int_equal(ask_count, 30);
    assert_int_equal(progress.known, 30);
    assert_int_equal(progress.pairs, 30);
    assert_int_equal(progress.trains, 60);
    assert_int_equal(progress.bytes, 30000000);
    assert_int_equal(progress.rotation.left_ns, 0);
    check_slots();
    uint64_t rounds_ns = 5 * (SLOT_NS + GUARD_NS);
    assert_in_range(end_ns - BEGIN_NS, rounds_ns, rounds_ns + LEAD_NS + REPLY_NS);
    assert_true(progress.took_ns == end_ns - BEGIN_NS);
    struct rotation_cost cost = survey_cost(&goal);
    assert_int_equal(cost.pairs, 30);
    assert_int_equal(cost.trains, 30 * 4 * 4);
    assert_true(cost.bytes >= progress.bytes && cost.duration_ns >= end_ns - BEGIN_NS);
}

/* As often as there are passes where it never becomes narrow; only what a plan may need where that is asked for. */
static void survey__goes_on_while_it_is_worth_it(void **state)
{
    static const struct {
        bool order;
        uint64_t half_bps;
        unsigned least, most;
    } rows[] = {
        {false, 130000000, 60, 60},   /* two together are narrow enough … */
        {true, 130000000, 30, 59},    /* … of which some are certainly not among the widest two */
        {false, 900000000, 120, 120}, /* never narrow enough */
        {true, 900000000, 120, 120},  /* nor known well enough to be put in order */
    };
    (void)state;
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        reset();
        half_bps = rows[row].half_bps;
        struct survey_goal goal = goal_of(6, 4);
        goal.order = rows[row].order;
        begin(&goal);
        drive();
        assert_in_range(ask_count, rows[row].least, rows[row].most);
        check_slots();
    }
}

/* A silent node costs one timeout, whatever the number of pairs; the others' pairs are all known. */
static void survey__silent_node(void **state)
{
    (void)state;
    reset();
    dead_mask = 1u << 3;
    struct survey_goal goal = goal_of(8, 3);
    begin(&goal);
    uint64_t end_ns = drive();
    struct survey_progress progress = survey_progress(&survey, end_ns);
    assert_int_equal(progress.known, 7 * 6);
    assert_int_equal(progress.rotation.silent, dead_mask);
    assert_true(end_ns - BEGIN_NS <= 7 * (SLOT_NS + GUARD_NS) + LEAD_NS + SLOT_NS + TIMEOUT_NS);
    assert_true(ask_count <= 8 * 7);
    check_slots();
    /* Known to be down before: not even that. */
    begin(&goal);
    survey_leave_out(&survey, 3);
    end_ns = drive();
    assert_int_equal(ask_count, 7 * 6);
    assert_true(end_ns - BEGIN_NS <= 7 * (SLOT_NS + GUARD_NS) + LEAD_NS + REPLY_NS);
    assert_int_equal(survey_progress(&survey, end_ns).known, 7 * 6);
}

/* All but one are silent: it ends. */
static void survey__nobody_answers(void **state)
{
    (void)state;
    reset();
    dead_mask = 0xfe;
    struct survey_goal goal = goal_of(8, 3);
    begin(&goal);
    uint64_t end_ns = drive();
    assert_int_equal(survey_progress(&survey, end_ns).known, 0);
    assert_true(end_ns - BEGIN_NS <= 3 * (7 * (SLOT_NS + GUARD_NS) + TIMEOUT_NS + SLOT_NS));
}

/* Whose own rules say no is not asked again. */
static void survey__refusals_are_final(void **state)
{
    (void)state;
    reset();
    half_bps = 900000000;
    refusing_mask = 1u << 2;
    struct survey_goal goal = goal_of(5, 3);
    begin(&goal);
    uint64_t end_ns = drive();
    assert_int_equal(ask_count, 4 * 3 * 3 + 2 * 4);
    assert_int_equal(survey_progress(&survey, end_ns).refused, 8);
}

/* Trains that tell nothing are tried again in each pass; what then is not known was refused, and each pair counts once. */
static void survey__counts_what_trains_could_not_tell(void **state)
{
    (void)state;
    static const struct {
        unsigned vain;
        uint32_t known, refused, trains;
    } rows[] = {{100, 4, 8, 4 * 2 + 2 * 3 * 3}, /* but the two into 2; these, and six from or to 3 */
                {1, 6, 6, 6 * 2 + 3}};          /* the next train there comes to something */
    for (unsigned row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        reset();
        vain_mask = 1u << 2;
        vain_left = rows[row].vain;
        refusing_mask = 1u << 3;
        struct survey_goal goal = goal_of(4, 3);
        begin(&goal);
        struct survey_progress progress = survey_progress(&survey, drive());
        assert_int_equal(progress.known, rows[row].known);
        assert_int_equal(progress.refused, rows[row].refused);
        assert_int_equal(progress.trains, rows[row].trains);
    }
}

/* What is known by then stays; answers that come later are nobody's. */
static void survey__stopped(void **state)
{
    (void)state;
    reset();
    stop_ns = BEGIN_NS + 2 * (SLOT_NS + GUARD_NS);
    struct survey_goal goal = goal_of(6, 4);
    begin(&goal);
    uint64_t end_ns = drive();
    struct survey_progress progress = survey_progress(&survey, end_ns);
    assert_int_equal(end_ns, stop_ns);
    assert_in_range(progress.known, 6, 12);
    while (next_answer() != NULL)
        answer(next_answer(), end_ns + NS_PER_S);
    assert_int_equal(survey_progress(&survey, end_ns).known, progress.known);
    struct rotation_train turn;
    assert_int_equal(survey_next(&survey, end_ns + NS_PER_S, &turn), SURVEY_DONE);
}

static void survey__of_a_goal_that_contradicts_itself(void **state)
{
    (void)state;
    struct err err;
    struct survey_goal goal = goal_of(1, 1);
    struct rotation_train turn;
    assert_false(survey_begin(&survey, &goal, known, BEGIN_NS, &err));
    assert_int_equal(survey_next(&survey, BEGIN_NS, &turn), SURVEY_DONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(survey__asks_each_pair_once),
        cmocka_unit_test(survey__goes_on_while_it_is_worth_it),
        cmocka_unit_test(survey__silent_node),
        cmocka_unit_test(survey__nobody_answers),
        cmocka_unit_test(survey__refusals_are_final),
        cmocka_unit_test(survey__counts_what_trains_could_not_tell),
        cmocka_unit_test(survey__stopped),
        cmocka_unit_test(survey__of_a_goal_that_contradicts_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
