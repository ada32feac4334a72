#include "probe/pool.h"

#include <math.h>

#include "base/units.h"

/* Fewer trains say little of what differs between them. */
#define BETWEEN_LEAST 4u
/* Of a train's time, while the hop was busy; and trains of either kind. */
#define DRY_SHARE     0.25
#define FULL_SHARE    0.75
#define DIVIDED_LEAST 3u
#define DIVIDED_PART  8u

void pool_clear(struct pool *pool)
{
    pool->count = pool->begin = 0;
}

static const struct pool_train *train(const struct pool *pool, uint32_t i)
{
    return &pool->trains[(pool->begin + i) % POOL_TRAINS_MAX];
}

static void drop_oldest(struct pool *pool)
{
    pool->begin = (pool->begin + 1) % POOL_TRAINS_MAX;
    pool->count--;
}

void pool_add(struct pool *pool, const struct conserve *fit, uint32_t bytes)
{
    if (pool->count == POOL_TRAINS_MAX)
        drop_oldest(pool);
    pool->trains[(pool->begin + pool->count++) % POOL_TRAINS_MAX] = (struct pool_train){*fit, bytes};
}

void pool_forget(struct pool *pool, uint64_t before_ns)
{
    while (pool->count > 0 && train(pool, 0)->fit.from_ns < before_ns)
        drop_oldest(pool);
}

bool pool_divided(const struct pool *pool)
{
    uint32_t dry = 0, full = 0, least = MAX(DIVIDED_LEAST, pool->count / DIVIDED_PART);
    for (uint32_t i = 0; i < pool->count; i++) {
        const struct conserve *fit = &train(pool, i)->fit;
        dry += fit->all.sent_ns < DRY_SHARE * fit->span_ns;
        full += fit->all.sent_ns > FULL_SHARE * fit->span_ns;
    }
    return dry >= least && full >= least;
}

double pool_quantile(double freedom)
{
    static const double table[] = {12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
    if (freedom <= 10)
        return table[freedom < 1 ? 0 : (unsigned)freedom - 1];
    return 1.96 + 2.4 / freedom + 3 / (freedom * freedom);
}

static bool by_rank(const struct pool *pool)
{
    double evidence = 0, weight = 0;
    for (uint32_t i = 0; i < pool->count; i++) {
        evidence += train(pool, i)->fit.evidence;
        weight += train(pool, i)->fit.evidence_weight;
    }
    return evidence > weight / 2;
}

/* A train whose queue did not end as it began tells C as much as cross traffic: of C's error it carries the
 * share 1 - received / sent. Weights by time less so much of those shares make the least variance of both
 * together, that of the trains within them taken as in proportion to time. */
static double share_of(const struct conserve *fit)
{
    return 1 - fit->all.received_ns / fit->all.sent_ns;
}

static double turned_down(const struct pool *pool, double capacity_error)
{
    double share_ns = 0, squares_ns = 0, sent_ns = 0, bits2 = 0, variance = capacity_error * capacity_error;
    for (uint32_t i = 0; i < pool->count; i++) {
        const struct conserve *fit = &train(pool, i)->fit;
        double share = share_of(fit);
        sent_ns += fit->all.sent_ns;
        share_ns += share * fit->all.sent_ns;
        squares_ns += share * share * fit->all.sent_ns;
        bits2 += fit->variance_bits2;
    }
    double all = bits2 / sent_ns + variance * squares_ns;
    return all > 0 ? variance * share_ns / all : 0;
}

static double weight_of(const struct conserve *fit, const struct pool_view *view)
{
    return 1 - view->turned_down * share_of(fit);
}

static void sum_up(const struct pool *pool, double capacity, double capacity_error, struct pool_view *view)
{
    double weight_ns = 0, share_ns = 0;
    view->turned_down = turned_down(pool, capacity_error);
    view->trains = pool->count;
    view->from_ns = train(pool, 0)->fit.from_ns;
    for (uint32_t i = 0; i < pool->count; i++) {
        const struct conserve *fit = &train(pool, i)->fit;
        double weight = weight_of(fit, view);
        view->sent_ns += fit->all.sent_ns;
        weight_ns += weight * fit->all.sent_ns;
        share_ns += weight * share_of(fit) * fit->all.sent_ns;
        view->cross += weight * conserve_cross_bits(&fit->all, capacity, view->rank);
        view->edges += fit->edges;
        view->jumps += fit->jump_bits;
        view->bytes += train(pool, i)->bytes;
        view->until_ns = MAX(view->until_ns, fit->until_ns);
        view->from_ns = MIN(view->from_ns, fit->from_ns);
        view->tail.sent_ns += fit->tail.sent_ns;
        view->tail.received_ns += fit->tail.received_ns;
        view->tail.index_bits += fit->tail.index_bits;
        view->tail.rank_bits += fit->tail.rank_bits;
    }
    view->cross /= weight_ns;
    view->jumps /= view->sent_ns;
    view->balance = fabs(share_ns / weight_ns);
    view->weight_ns = weight_ns;
}

static void view_busy(const struct pool *pool, double capacity, double packet_bits, struct pool_view *view)
{
    double within = 0, between = 0, ratio = 0, n = pool->count;
    for (uint32_t i = 0; i < pool->count; i++) {
        const struct conserve *fit = &train(pool, i)->fit;
        double off = conserve_cross_bits(&fit->all, capacity, view->rank) - view->cross * fit->all.sent_ns;
        double weight = weight_of(fit, view);
        within += weight * weight * fit->variance_bits2;
        between += weight * weight * off * off;
        ratio +=
            off * off / (fmax(view->cross, 0) * packet_bits * fit->all.sent_ns + packet_bits * packet_bits);
    }
    view->error = pool_quantile((CONSERVE_BLOCKS - 1) * n) * sqrt(within) / view->weight_ns;
    if (n < BETWEEN_LEAST)
        return;
    view->spread = ratio / (n - 1);
    view->error = fmax(view->error, pool_quantile(n - 1) * sqrt(between * n / (n - 1)) / view->weight_ns);
}

static void view_equal(const struct pool *pool, double capacity, struct pool_view *view)
{
    double sum = 0, squares = 0, before = 0, differences = 0, n = pool->count;
    for (uint32_t i = 0; i < pool->count; i++) {
        const struct conserve *fit = &train(pool, i)->fit;
        double cross = conserve_cross_bits(&fit->all, capacity, view->rank) / fit->all.sent_ns;
        sum += cross;
        squares += cross * cross;
        if (i > 0)
            differences += (cross - before) * (cross - before) / 2;
        before = cross;
    }
    view->cross = sum / n;
    view->error = view->cross;
    if (n < 2)
        return;
    double variance = fmax(differences, squares - sum * sum / n) / (n - 1);
    view->error = pool_quantile((n - 1) / 3) * sqrt(variance / n);
}

void pool_view(const struct pool *pool, double capacity, double capacity_error, double packet_bits,
               bool equal, struct pool_view *view)
{
    *view = (struct pool_view){0};
    if (pool->count == 0)
        return;
    view->rank = by_rank(pool);
    sum_up(pool, capacity, capacity_error, view);
    view->law = sqrt(fmax(view->cross, 0) * packet_bits / view->sent_ns);
    view_busy(pool, capacity, packet_bits, view);
    if (equal)
        view_equal(pool, capacity, view);
}
