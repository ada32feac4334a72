#include "probe/survey.h"

#include <string.h>

#include "base/check.h"
#include "base/units.h"

struct rotation_cost survey_cost(const struct survey_goal *goal)
{
    struct rotation_cost cost = rotation_cost(&goal->rotation);
    cost.trains *= goal->trains;
    return cost;
}

bool survey_begin(struct survey *survey, const struct survey_goal *goal, struct known *known, uint64_t now_ns,
                  struct err *err)
{
    struct order_goal order = {.node_count = goal->rotation.node_count,
                               .keep = goal->keep,
                               .coarse_bps = goal->coarse_bps,
                               .fine_bps = goal->fine_bps,
                               .port_bps = goal->port_bps,
                               .drift_bps = 1}; /* paths are taken to stay as they are while it lasts */
    memset(survey, 0, sizeof(*survey));
    survey->over = true;
    if (!rotation_init(&survey->rotation, &goal->rotation, now_ns + goal->lead_ns, err))
        return false;
    survey->goal = *goal;
    survey->known = known;
    order_init(&survey->order, &order, known);
    survey->begun_ns = now_ns;
    survey->over = false;
    return true;
}

static struct known *known_of(const struct survey *survey, uint16_t from, uint16_t to)
{
    return &survey->known[(uint32_t)from * survey->goal.rotation.node_count + to];
}

/* ---- what is worth another measurement ---- */

static uint64_t wanted_by_width(const struct survey *survey, uint16_t from, uint64_t now_ns)
{
    uint64_t bits = 0;
    for (uint16_t to = 0; to < survey->goal.rotation.node_count; to++)
        if (to != from && known_wants_train(known_of(survey, from, to), survey->goal.fine_bps,
                                            survey->goal.port_bps, now_ns))
            bits |= UINT64_C(1) << to;
    return bits;
}

/* False: nothing is. */
static bool want(struct survey *survey, uint64_t now_ns)
{
    uint64_t any = 0;
    order_look(&survey->order, now_ns);
    for (uint16_t from = 0; from < survey->goal.rotation.node_count; from++) {
        uint64_t bits =
            survey->goal.order ? order_wanted(&survey->order, from) : wanted_by_width(survey, from, now_ns);
        bits &= ~survey->refused[from] & ~survey->rotation.silent;
        rotation_want(&survey->rotation, from, bits);
        any |= (survey->rotation.silent >> from & 1) != 0 ? 0 : bits;
    }
    return any != 0;
}

/* ---- whose turn it is ---- */

static bool awaits_answers(const struct survey *survey)
{
    for (uint16_t from = 0; from < survey->goal.rotation.node_count; from++)
        if ((survey->rotation.silent >> from & 1) == 0 &&
            (survey->open[from] & ~survey->rotation.silent) != 0)
            return true;
    return false;
}

static enum survey_step end(struct survey *survey, uint64_t now_ns)
{
    if (!survey->over)
        survey->ended_ns = now_ns;
    survey->over = true;
    return SURVEY_DONE;
}

/* A pair whose last ask is still open, of a node that was taken for silent, is not asked again. */
static bool is_free(const struct survey *survey, const struct rotation_train *turn)
{
    return (survey->open[turn->from] >> turn->to & 1) == 0;
}

static enum survey_step give(struct survey *survey, uint64_t now_ns, struct rotation_train *turn)
{
    uint64_t silent = survey->rotation.silent, lead_ns = survey->goal.lead_ns;
    *turn = survey->turn;
    if (turn->at_ns > now_ns + lead_ns) {
        turn->at_ns -= lead_ns;
        return SURVEY_WAIT;
    }
    survey->held = false;
    survey->open[turn->from] |= UINT64_C(1) << turn->to;
    if (((silent >> turn->from | silent >> turn->to) & 1) == 0)
        return SURVEY_ASK;
    /* One of the two has gone since its turn was found. */
    survey_take(survey, turn->from, turn->to, SURVEY_SILENT, NULL, now_ns);
    turn->at_ns = now_ns;
    return SURVEY_WAIT;
}

enum survey_step survey_next(struct survey *survey, uint64_t now_ns, struct rotation_train *turn)
{
    *turn = (struct rotation_train){.at_ns = TIME_NEVER};
    if (survey->over)
        return SURVEY_DONE;
    while (!survey->held) {
        if (survey->between && awaits_answers(survey))
            return SURVEY_WAIT;
        if (survey->between && !want(survey, now_ns))
            return end(survey, now_ns);
        survey->between = false;
        switch (rotation_next(&survey->rotation, now_ns + survey->goal.lead_ns, &survey->turn)) {
        case ROTATION_TRAIN:
            survey->held = is_free(survey, &survey->turn);
            if (!survey->held)
                rotation_take(&survey->rotation, survey->turn.from, survey->turn.to, true);
            break;
        case ROTATION_PASS:
            survey->between = true;
            break;
        case ROTATION_WAIT:
            if (awaits_answers(survey))
                return SURVEY_WAIT;
            return end(survey, now_ns);
        case ROTATION_DONE:
            return end(survey, now_ns);
        }
    }
    return give(survey, now_ns, turn);
}

void survey_take(struct survey *survey, uint16_t from, uint16_t to, enum survey_answer answer,
                 const struct estimate *estimate, uint64_t now_ns)
{
    if (survey->over || (survey->open[from] >> to & 1) == 0)
        return;
    survey->open[from] &= ~(UINT64_C(1) << to);
    rotation_take(&survey->rotation, from, to, answer != SURVEY_SILENT);
    if (answer == SURVEY_REFUSED)
        survey->refused[from] |= UINT64_C(1) << to;
    if (estimate == NULL)
        return;
    if (estimate->kind == ESTIMATE_REFUSED)
        survey->vain[from] |= UINT64_C(1) << to;
    else
        survey->vain[from] &= ~(UINT64_C(1) << to);
    survey->trains += estimate->trains + estimate->discarded;
    survey->bytes += estimate->bytes;
    order_take(&survey->order, from, to, estimate, now_ns);
}

void survey_leave_out(struct survey *survey, uint16_t node)
{
    rotation_leave_out(&survey->rotation, node);
}

void survey_stop(struct survey *survey, uint64_t now_ns)
{
    end(survey, now_ns);
}

struct survey_progress survey_progress(const struct survey *survey, uint64_t now_ns)
{
    uint16_t count = survey->goal.rotation.node_count;
    struct survey_progress progress = {
        .rotation = rotation_progress(&survey->rotation),
        .pairs = (uint32_t)count * (count - 1u),
        .trains = survey->trains,
        .bytes = survey->bytes,
        .took_ns = elapsed_ns(survey->over ? survey->ended_ns : now_ns, survey->begun_ns)};
    for (uint16_t from = 0; from < count; from++) {
        uint64_t known = 0;
        for (uint16_t to = 0; to < count; to++)
            if (from != to && known_of(survey, from, to)->newest.kind != ESTIMATE_NONE)
                known |= UINT64_C(1) << to;
        progress.known += (uint32_t)__builtin_popcountll(known);
        progress.refused +=
            (uint32_t)__builtin_popcountll(survey->refused[from] | (survey->vain[from] & ~known));
    }
    if (survey->over)
        progress.rotation.left_ns = 0;
    return progress;
}
