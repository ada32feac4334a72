/* Bodies sent without a copy: each record comes back once, whoever frees the frames and in whatever order, through many
 * rounds of the ring that they come back by. No EAL: the mbufs are plain memory. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "dpdk/chain.h"
#include "base/rng.h"

#define FRAMES 3
#define BURST  64
#define ROUNDS (5 * CHAIN_PLACES / BURST)

static struct chain_pool pool;
static uint8_t body[2048];

/* What DPDK does when a frame is freed. */
static void frame_gone(struct rte_mbuf *mbuf)
{
    struct rte_mbuf_ext_shared_info *info = mbuf->shinfo;
    if (rte_mbuf_ext_refcnt_update(info, -1) == 0)
        info->free_cb(mbuf->buf_addr, info->fcb_opaque);
}

static void send_body(struct rte_mbuf *mbufs, uint64_t cookie)
{
    uint32_t record = chain_open(&pool, body, 1000, (uintptr_t)body, cookie);
    assert_int_not_equal(record, CHAIN_NONE);
    for (unsigned frame = 0; frame < FRAMES; frame++) {
        mbufs[frame] = (struct rte_mbuf){.buf_len = 2048};
        chain_attach(&pool, record, &mbufs[frame]);
        assert_ptr_equal(mbufs[frame].buf_addr, body);
        assert_int_equal(mbufs[frame].data_len, 1000);
    }
}

static void chain__come_back_once_in_any_order(void **state)
{
    (void)state;
    static struct rte_mbuf mbufs[BURST * FRAMES];
    struct rng rng;
    rng_init(&rng, 7);
    chain_init(&pool);
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t cookie, seen = 0;
        uint16_t frames;
        for (uint64_t index = 0; index < BURST; index++)
            send_body(&mbufs[index * FRAMES], index);
        assert_int_equal(chain_in_use(&pool), BURST);
        for (uint64_t left = BURST * FRAMES; left > 0; left--) {
            uint64_t chosen = rng_below(&rng, left);
            frame_gone(&mbufs[chosen]);
            mbufs[chosen] = mbufs[left - 1];
        }
        while (chain_released(&pool, &cookie, &frames)) {
            assert_int_equal(frames, FRAMES);
            assert_int_equal(seen >> cookie & 1, 0);
            seen |= 1ULL << cookie;
        }
        assert_true(seen == UINT64_MAX);
        assert_int_equal(chain_in_use(&pool), 0);
    }
}

static void chain__none_left(void **state)
{
    (void)state;
    chain_init(&pool);
    for (uint32_t index = 0; index < CHAIN_PLACES; index++)
        assert_int_not_equal(chain_open(&pool, body, 1000, (uintptr_t)body, index), CHAIN_NONE);
    assert_int_equal(chain_open(&pool, body, 1000, (uintptr_t)body, 0), CHAIN_NONE);
}

/* Another thread frees, as over net_ring: half of the frames of each body, so that both may be the last. */
struct other {
    struct rte_mbuf (*mbufs)[2];
    uint32_t count, given; /* atomic */
};

static void *free_halves(void *argument)
{
    struct other *other = argument;
    for (uint32_t index = 0; index < other->count; index++) {
        while (__atomic_load_n(&other->given, __ATOMIC_ACQUIRE) <= index)
            continue;
        frame_gone(&other->mbufs[index][0]);
    }
    return NULL;
}

static void chain__freed_by_another_thread(void **state)
{
    (void)state;
    static struct rte_mbuf mbufs[2 * CHAIN_PLACES][2];
    struct other other = {.mbufs = mbufs, .count = 2 * CHAIN_PLACES};
    pthread_t thread;
    uint64_t cookie, sum = 0;
    uint16_t frames;
    uint32_t back = 0;
    chain_init(&pool);
    assert_int_equal(pthread_create(&thread, NULL, free_halves, &other), 0);
    for (uint32_t sent = 0; back < other.count;) {
        uint32_t record =
            sent < other.count ? chain_open(&pool, body, 1000, (uintptr_t)body, sent) : CHAIN_NONE;
        if (record != CHAIN_NONE) {
            for (unsigned frame = 0; frame < 2; frame++) {
                mbufs[sent][frame] = (struct rte_mbuf){.buf_len = 2048};
                chain_attach(&pool, record, &mbufs[sent][frame]);
            }
            __atomic_store_n(&other.given, ++sent, __ATOMIC_RELEASE);
            frame_gone(&mbufs[sent - 1][1]);
        }
        for (; chain_released(&pool, &cookie, &frames); back++)
            sum += cookie;
    }
    pthread_join(thread, NULL);
    assert_int_equal(sum, (uint64_t)other.count * (other.count - 1) / 2);
    assert_int_equal(chain_in_use(&pool), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain__come_back_once_in_any_order),
        cmocka_unit_test(chain__none_left),
        cmocka_unit_test(chain__freed_by_another_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
