/* Expectations of a scenario against the result of its run. */
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "sim/result.h"

#define JUDGE_TEXT_BYTES (2 * NAME_BYTES + 40)

/* False: there is no such value. */
static bool find_counter(const struct sim_result *result, const char *name, uint64_t *value)
{
    for (uint32_t counter = 0; counter < result->counter_count; counter++) {
        if (strcmp(result->counters[counter].name, name) != 0)
            continue;
        *value = result->counters[counter].value;
        return true;
    }
    return false;
}

static uint64_t share_of_repairs(const struct sim_result *result)
{
    uint64_t sent = result_sent_packets(result);
    return sent == 0 ? 0 : muldiv64(result_repairs(result), NS_PER_S, sent);
}

static bool find_value(const struct sim_result *result, const struct scenario *scenario, const char *name,
                       uint64_t *value)
{
    const char *rest;
#define METER(name, kind, worst, value, help)
#define VALUE(row, kind, found, help)                                                                        \
    if (strcmp(name, #row) == 0) {                                                                           \
        *value = found;                                                                                      \
        return true;                                                                                         \
    }
#include "sim/expects.def"
#undef VALUE
#undef METER
    if ((rest = expect_after(name, EXPECT_COMPLETE)) != NULL)
        return result_complete_ns(result, scenario, rest, value);
    if ((rest = expect_after(name, EXPECT_FLOW)) != NULL)
        return result_flow_rate(result, rest, value);
    if ((rest = expect_after(name, EXPECT_COUNTER)) != NULL)
        return find_counter(result, rest, value);
    if (result_probe_value(result, scenario, name, value))
        return true;
    return result_meter_value(result, name, value) || result_shared_value(result, scenario, name, value);
}

/* "FROM > TO: CAUSE", of the receiver's last job. */
static const char *find_limit(const struct sim_result *result, const struct scenario *scenario,
                              const char *node, char text[JUDGE_TEXT_BYTES])
{
    const struct result_receiver *found = NULL;
    for (uint16_t job = 0; job < result->job_count; job++)
        for (uint16_t index = 0; index < result->jobs[job].receiver_count; index++)
            if (strcmp(scenario->nodes[result->jobs[job].receivers[index].node].name, node) == 0)
                found = &result->jobs[job].receivers[index];
    if (found == NULL)
        return NULL;
    snprintf(text, JUDGE_TEXT_BYTES, "%s > %s: %s", found->limited_from, found->limited_to,
             edge_limit_name(found->limited_by));
    return text;
}

static const char *find_text(const struct sim_result *result, const struct scenario *scenario,
                             const char *name, char room[JUDGE_TEXT_BYTES])
{
    const char *state = expect_after(name, EXPECT_STATE), *text = expect_after(name, EXPECT_TEXT);
    const char *node = expect_after(name, EXPECT_LIMITED);
    if (expect_after(name, EXPECT_PROBE_KIND) != NULL)
        return result_probe_kind(result, scenario, expect_after(name, EXPECT_PROBE_KIND));
    if (node != NULL)
        return find_limit(result, scenario, node, room);
    for (uint16_t job = 0; job < result->job_count; job++) {
        if (state != NULL && strcmp(scenario->jobs[job].spec.name, state) == 0)
            return result_job_state(&result->jobs[job]);
        if (text != NULL && strcmp(scenario->jobs[job].spec.name, text) == 0)
            return result->jobs[job].text;
    }
    return NULL;
}

static const char *compare_text(unsigned compare)
{
    switch ((enum scenario_compare)compare) {
    case COMPARE_AT_LEAST:
        return ">=";
    case COMPARE_AT_MOST:
        return "<=";
    case COMPARE_EQUAL:
        return "==";
    }
    return "?";
}

static bool holds(unsigned compare, uint64_t found, uint64_t expected)
{
    switch ((enum scenario_compare)compare) {
    case COMPARE_AT_LEAST:
        return found >= expected;
    case COMPARE_AT_MOST:
        return found <= expected;
    case COMPARE_EQUAL:
        return found == expected;
    }
    return false;
}

static bool text_holds(const struct scenario_expect *expect, const char *found)
{
    /* A job's text is a sentence: it is enough that the expected words are in it. */
    bool part = expect_after(expect->name, EXPECT_TEXT) != NULL;
    return found != NULL && (part ? strstr(found, expect->text) != NULL : strcmp(found, expect->text) == 0);
}

static bool judge_text(const struct sim_result *result, const struct scenario *scenario,
                       const struct scenario_expect *expect, const char *file, FILE *out)
{
    char room[JUDGE_TEXT_BYTES];
    const char *found = find_text(result, scenario, expect->name, room);
    if (text_holds(expect, found))
        return true;
    fprintf(out, "%s:%d: expected %s to be \"%s\", found %s%s%s\n", file, expect->line, expect->name,
            expect->text, found != NULL ? "\"" : "", found != NULL ? found : "nothing of that name",
            found != NULL ? "\"" : "");
    return false;
}

static bool judge_value(const struct sim_result *result, const struct scenario *scenario,
                        const struct scenario_expect *expect, const char *file, FILE *out)
{
    uint64_t found = 0;
    if (!find_value(result, scenario, expect->name, &found)) {
        fprintf(out, "%s:%d: expected %s, found no such value\n", file, expect->line, expect->name);
        return false;
    }
    if (holds(expect->compare, found, expect->value))
        return true;
    fprintf(out, "%s:%d: expected %s %s %" PRIu64 ", found %" PRIu64 "\n", file, expect->line, expect->name,
            compare_text(expect->compare), expect->value, found);
    return false;
}

void result_expect_report(const struct sim_result *result, const struct scenario *scenario,
                          struct report *report)
{
    report_table(report, "expects");
    for (uint16_t index = 0; index < scenario->expect_count; index++) {
        const struct scenario_expect *expect = &scenario->expects[index];
        char room[JUDGE_TEXT_BYTES];
        const char *text = expect->is_text ? find_text(result, scenario, expect->name, room) : NULL;
        uint64_t found = 0;
        bool there = expect->is_text ? text != NULL : find_value(result, scenario, expect->name, &found);
        report_row(report);
        report_text(report, "name", expect->name);
        report_text(report, "compare", compare_text(expect->compare));
        if (expect->is_text) {
            report_text(report, "asked", expect->text);
            report_text(report, "found", there ? text : "");
        } else {
            report_u64(report, "asked", expect->value);
            report_u64(report, "found", found);
        }
        report_bool(report, "holds",
                    there && (expect->is_text ? text_holds(expect, text)
                                              : holds(expect->compare, found, expect->value)));
        report_row_end(report);
    }
    report_table_end(report);
}

static bool is_expected(const struct scenario *scenario, const char *name)
{
    for (uint16_t index = 0; index < scenario->expect_count; index++)
        if (strcmp(scenario->expects[index].name, name) == 0)
            return true;
    return false;
}

/* No edge breaks the law of liveness, unless the file speaks of it. */
static bool judge_liveness(const struct sim_result *result, const struct scenario *scenario, const char *file,
                           FILE *out)
{
    static const struct {
        const char *name, *words;
    } rows[BREACH_COUNT] = {[BREACH_STUCK] = {"stuck_ms", "stood still"},
                            [BREACH_LATE] = {"late_ms", "did not come back"},
                            [BREACH_DEEP] = {"deep_ms", "was below a sixteenth of its most"}};
    bool good = true;
    for (unsigned row = 0; row < BREACH_COUNT; row++) {
        const struct result_breach *breach = &result->breaches[row];
        if (breach->ns == 0 || is_expected(scenario, rows[row].name))
            continue;
        fprintf(out, "%s: the edge %s > %s %s for %" PRIu64 " ms, which nothing hindered\n", file,
                scenario->nodes[breach->from].name, scenario->nodes[breach->to].name, rows[row].words,
                (uint64_t)(breach->ns / NS_PER_MS));
        good = false;
    }
    return good;
}

bool result_judge(const struct sim_result *result, const struct scenario *scenario, const char *file,
                  FILE *out)
{
    bool good = true, ends_expected = false;
    for (uint16_t index = 0; index < scenario->expect_count; index++) {
        const struct scenario_expect *expect = &scenario->expects[index];
        good &= expect->is_text ? judge_text(result, scenario, expect, file, out)
                                : judge_value(result, scenario, expect, file, out);
        ends_expected |= strcmp(expect->name, "completed") == 0 || strcmp(expect->name, "failed_jobs") == 0 ||
                         expect_after(expect->name, EXPECT_STATE) != NULL;
    }
    good &= judge_liveness(result, scenario, file, out);
    if (result->limit_reached) {
        fprintf(out, "%s: the limit of virtual time was reached\n", file);
        good = false;
    }
    if (!ends_expected && !result->completed) {
        fprintf(out, "%s: expected all jobs to be done and verified everywhere, found otherwise\n", file);
        good = false;
    }
    return good;
}
