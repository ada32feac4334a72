/* Random runs against a plain model of what each child has been sent, lost and acked. Two objects share a
 * store of very few slots; puts come in random order, the disk answers late and in any order, children are
 * slow, lose, refuse, ask again, have blocks already, vanish. Some objects travel in stripes: what a child gets
 * by another tree it has acked from the beginning, as far as the model is concerned. */
#include "fixture.h"

#include "base/rng.h"
#include "base/units.h"

#define CHILDREN_MAX 5
#define FLIGHTS_MAX  4000
#define DISK_MAX     8
#define STEPS_MAX    3000000
#define SETTLE_AFTER 6000 /* steps; then no more resends and rejects */

enum fate { NEVER = 0, SENT, LOST, ACKED };

/* A parent may tell two of a block, and the disk may give one back that it never got. */
enum hash { NO_HASH = 0, RIGHT, WRONG };

struct flight {
    uint32_t child, slot, count;
    uint64_t symbol;
    bool held;     /* the transmit hold has not ended */
    bool answered; /* acked, or declared lost for the last time */
};

struct disk_job {
    bool write;
    uint64_t block;
    uint32_t slot;
};

struct world {
    struct fixture *fixture;
    struct object *object;
    struct rng *rng;
    const struct geometry *geometry;
    struct stripe_schedule schedule;
    uint8_t stripes[CHILDREN_MAX]; /* that the child is fed */
    uint32_t children;
    uint32_t weight[CHILDREN_MAX]; /* of 100: how often this child sends */
    bool dropped[CHILDREN_MAX];
    uint8_t *fate[CHILDREN_MAX]; /* per symbol */
    uint8_t *here;               /* per symbol: put, and its block not found bad since */
    uint8_t *told, *computed;    /* per block, enum hash: by the parent; of what is held here */
    bool *reads_bad;             /* per block: found bad while the disk reads it */
    struct flight flights[FLIGHTS_MAX];
    uint32_t flight_count;
    struct disk_job disk[DISK_MAX];
    uint32_t disk_count;
    uint64_t complete[64]; /* blocks waiting for their write */
    uint32_t complete_count;
    uint32_t holds[64]; /* per slot, of both objects */
    uint64_t steps;
};

static bool chance(struct world *world, uint32_t percent)
{
    return rng_below(world->rng, 100) < percent;
}

static bool settled(const struct world *world)
{
    return world->steps > SETTLE_AFTER;
}

static uint64_t block_first(const struct world *world, uint64_t block)
{
    return block * world->geometry->block_symbols;
}

static uint64_t block_end(const struct world *world, uint64_t block)
{
    return block_first(world, block) + geometry_symbols_in_block(world->geometry, block);
}

static bool block_is(const struct world *world, uint32_t child, uint64_t block, enum fate fate)
{
    const uint8_t *fates = world->fate[child] + block_first(world, block);
    uint32_t symbols = geometry_symbols_in_block(world->geometry, block);
    return fates[0] == fate && memcmp(fates, fates + 1, symbols - 1) == 0;
}

static void set_block(struct world *world, uint32_t child, uint64_t block, enum fate fate)
{
    for (uint64_t symbol = block_first(world, block); symbol < block_end(world, block); symbol++)
        world->fate[child][symbol] = (uint8_t)fate;
}

static void world_hash(uint64_t block, uint8_t which, struct wire_hash *hash)
{
    memset(hash, 0, sizeof(*hash));
    memcpy(hash->bytes, &block, sizeof(block));
    hash->bytes[31] = which;
}

static uint8_t right_or_wrong(struct world *world, uint32_t wrong_percent)
{
    return !settled(world) && chance(world, wrong_percent) ? WRONG : RIGHT;
}

/* The node found the content of this block bad: it forgets it, and who was sent parts of it. */
static void model_reject(struct world *world, uint64_t block)
{
    for (uint64_t symbol = block_first(world, block); symbol < block_end(world, block); symbol++)
        world->here[symbol] = 0;
    world->computed[block] = NO_HASH;
    for (uint32_t child = 0; child < world->children; child++)
        if (!block_is(world, child, block, ACKED))
            set_block(world, child, block, NEVER);
}

static bool is_fed(const struct world *world, uint32_t child, uint64_t block)
{
    return world->schedule.count == 1 ||
           (world->stripes[child] >> stripe_of_block(&world->schedule, block) & 1) != 0;
}

/* ---- what may happen ---- */

static void do_put(struct world *world)
{
    const struct geometry *geometry = world->geometry;
    const uint8_t *missing = memchr(world->here, 0, geometry->symbols);
    uint64_t symbol = missing == NULL ? geometry->symbols : (uint64_t)(missing - world->here);
    if (symbol == geometry->symbols || chance(world, 5))
        symbol = rng_below(world->rng, geometry->symbols);
    else
        symbol = MIN(symbol + rng_below(world->rng, geometry->block_symbols * 3), geometry->symbols - 1);
    uint64_t block = geometry_block_of(geometry, symbol);
    uint64_t left = block_end(world, block) - symbol;
    uint32_t count = (uint32_t)MIN(left, 1 + rng_below(world->rng, 8));
    bool fresh = false, all = true;
    for (uint32_t at = 0; at < count; at++)
        fresh |= !world->here[symbol + at];
    uint64_t completed = 0;
    uint64_t before = world->object->received_bytes;
    enum put_result result = put_run(world->object, symbol, count, &completed);
    if (result == PUT_NO_SLOT) {
        assert_true(fresh);
        assert_int_equal(world->object->received_bytes, before);
        return;
    }
    assert_int_equal(result, fresh ? PUT_STORED : PUT_DUPLICATE);
    memset(&world->here[symbol], 1, count);
    for (uint64_t at = block_first(world, block); at < block_end(world, block); at++)
        all &= world->here[at];
    assert_int_equal(completed, fresh && all ? block : UINT64_MAX);
    if (fresh && all)
        world->complete[world->complete_count++] = block;
}

static void do_send(struct world *world, uint32_t child)
{
    struct feed_item item;
    uint32_t count_max = 1 + (uint32_t)rng_below(world->rng, 8);
    const struct feed *feed = &world->object->feeds[child];
    uint8_t full = !settled(world) && chance(world, 30) ? (uint8_t)rng_below(world->rng, 256) : 0;
    uint8_t room = !settled(world) && chance(world, 30) ? (uint8_t)rng_below(world->rng, 4) : FEED_ROOM_ANY;
    feed_set_places(world->object, child, full, room);
    bool found = feed_peek(world->object, child, count_max, &item);
    if (world->flight_count == FLIGHTS_MAX || !found)
        return;
    const struct slot *slot = &world->fixture->store.slots[item.slot];
    if (!item.begun || slot->children[child].acked_count == 0) {
        assert_int_equal(full >> stripe_of_block(&world->object->schedule, slot->block) & 1, 0);
        assert_true(item.begun ? room > 0 : feed->unanswered < room);
    }
    for (uint32_t at = 0; at < item.count; at++) {
        assert_int_equal(world->fate[child][item.symbol + at], item.repair ? LOST : NEVER);
        assert_true(world->object->source || world->here[item.symbol + at]);
        world->fate[child][item.symbol + at] = SENT;
    }
    assert_true(item.symbol + item.count <= block_end(world, slot->block));
    assert_true(run_is_right(world->geometry, slot_symbol(slot, world->geometry, item.symbol), item.symbol,
                             item.count));
    feed_on_sent(world->object, child, &item);
    world->holds[item.slot]++;
    world->flights[world->flight_count++] = (struct flight){
        .child = child, .slot = item.slot, .symbol = item.symbol, .count = item.count, .held = true};
}

static void model_ack(struct world *world, const struct flight *flight)
{
    for (uint32_t at = 0; at < flight->count; at++) {
        uint8_t *fate = &world->fate[flight->child][flight->symbol + at];
        if (*fate == SENT || *fate == LOST)
            *fate = ACKED;
    }
}

static void answer(struct world *world, struct flight *flight)
{
    if (world->dropped[flight->child] || chance(world, 80)) {
        feed_on_acked(world->object, flight->child, flight->symbol, flight->count);
        if (!world->dropped[flight->child])
            model_ack(world, flight);
        flight->answered = true;
        return;
    }
    feed_on_lost(world->object, flight->child, flight->symbol, flight->count);
    for (uint32_t at = 0; at < flight->count; at++)
        if (world->fate[flight->child][flight->symbol + at] == SENT)
            world->fate[flight->child][flight->symbol + at] = LOST;
    flight->answered = chance(world, 70); /* else it may yet be acked: a spurious repair */
}

static void do_flight(struct world *world)
{
    if (world->flight_count == 0)
        return;
    struct flight *flight = &world->flights[rng_below(world->rng, world->flight_count)];
    if (flight->held && chance(world, 60)) {
        store_release(&world->fixture->store, flight->slot, 1);
        world->holds[flight->slot]--;
        flight->held = false;
    } else if (!flight->answered && chance(world, world->weight[flight->child])) {
        answer(world, flight);
    }
    if (!flight->held && flight->answered)
        *flight = world->flights[--world->flight_count];
}

static void do_disk_begin(struct world *world)
{
    if (world->disk_count == DISK_MAX)
        return;
    struct disk_job *job = &world->disk[world->disk_count];
    if (world->complete_count != 0) {
        uint32_t pick = (uint32_t)rng_below(world->rng, world->complete_count);
        *job = (struct disk_job){.write = true, .block = world->complete[pick]};
        world->complete[pick] = world->complete[--world->complete_count];
        job->slot = object_write_begin(world->object, job->block);
        const struct slot *slot = &world->fixture->store.slots[job->slot];
        assert_true(run_is_right(world->geometry, slot->data, block_first(world, job->block), slot->symbols));
    } else if (object_load_begin(world->object, 2, &job->block, &job->slot)) {
        assert_false(world->object->discard);
        job->write = false;
    } else {
        return;
    }
    world->holds[job->slot]++;
    world->disk_count++;
}

static void end_write(struct world *world, const struct disk_job *job)
{
    struct wire_hash hash;
    uint8_t which = right_or_wrong(world, 10), told = world->told[job->block];
    world_hash(job->block, which, &hash);
    bool agrees = object_write_done(world->object, job->block, true, &hash);
    assert_int_equal(agrees, told == NO_HASH || told == which);
    if (agrees)
        world->computed[job->block] = which;
    else
        model_reject(world, job->block);
}

/* At a source what is read is the truth; else it is compared with what is known. */
static void end_read(struct world *world, const struct disk_job *job)
{
    if (!world->object->source) {
        struct wire_hash hash;
        uint8_t which = right_or_wrong(world, 20);
        bool known_bad = world->reads_bad[job->block];
        bool agrees = known_bad || which == world->computed[job->block];
        world_hash(job->block, which, &hash);
        assert_int_equal(object_load_check(world->object, job->block, &hash), agrees);
        if (!agrees)
            model_reject(world, job->block);
    }
    finish_load(world->object, job->block, job->slot);
}

static void do_disk_end(struct world *world)
{
    if (world->disk_count == 0)
        return;
    uint32_t pick = (uint32_t)rng_below(world->rng, world->disk_count);
    struct disk_job job = world->disk[pick];
    world->disk[pick] = world->disk[--world->disk_count];
    world->holds[job.slot]--;
    if (job.write)
        end_write(world, &job);
    else if (chance(world, 10))
        object_load_failed(world->object, job.block);
    else
        end_read(world, &job);
    world->reads_bad[job.block] = false;
}

static void do_expect(struct world *world)
{
    uint64_t block = rng_below(world->rng, world->geometry->blocks);
    if (world->disk_count > 0 && chance(world, 50)) /* while the disk has it: often enough for a second one */
        block = world->disk[rng_below(world->rng, world->disk_count)].block;
    struct wire_hash hash;
    uint8_t which = right_or_wrong(world, 20), computed = world->computed[block];
    world_hash(block, which, &hash);
    world->told[block] = which;
    bool agrees = object_expect(world->object, block, &hash);
    assert_int_equal(agrees, computed == NO_HASH || computed == which);
    if (agrees)
        return;
    world->reads_bad[block] = world->object->state[block] == BLOCK_READING;
    model_reject(world, block);
}

static void do_rare(struct world *world)
{
    uint32_t child = (uint32_t)rng_below(world->rng, world->children);
    uint64_t block = rng_below(world->rng, world->geometry->blocks);
    uint64_t count = 1 + rng_below(world->rng, 3);
    uint64_t end = MIN(block + count, world->geometry->blocks);
    switch (rng_below(world->rng, 3)) {
    case 0:
        feed_on_have(world->object, child, block, count);
        for (; block < end; block++)
            set_block(world, child, block, ACKED);
        break;
    case 1:
        if (world->object->discard)
            break;
        assert_true(feed_on_resend(world->object, child, block, count));
        for (; block < end; block++)
            if (is_fed(world, child, block))
                set_block(world, child, block, NEVER);
        break;
    case 2:
        if (!chance(world, 2))
            break;
        feed_drop(world->object, child);
        world->dropped[child] = true;
        break;
    }
}

/* ---- what must hold ---- */

static bool slot_available(const struct world *world, const struct slot *slot)
{
    const struct object *object = slot->object;
    if (object->state[slot->block] < BLOCK_HELD || slot->retired || slot->pinned != 0)
        return false;
    for (uint32_t child = 0; child < world->children; child++) {
        bool done = world->dropped[child] || block_is(world, child, slot->block, ACKED);
        if (!done && (object->discard || !block_is(world, child, slot->block, NEVER)))
            return false;
    }
    return true;
}

/* A child that is offered nothing needs nothing of what is in memory. */
static void check_silence(struct world *world)
{
    struct feed_item item;
    for (uint32_t child = 0; child < world->children; child++) {
        feed_set_places(world->object, child, 0, FEED_ROOM_ANY);
        if (world->dropped[child] || feed_peek(world->object, child, 1, &item))
            continue;
        for (uint32_t index = 0; index < world->fixture->store.slot_count; index++) {
            const struct slot *slot = &world->fixture->store.slots[index];
            if (slot->object != world->object || slot->retired)
                continue;
            for (uint32_t at = 0; at < slot->symbols; at++)
                if (bitmap_test(slot->have, at))
                    assert_in_range(world->fate[child][block_first(world, slot->block) + at], SENT, ACKED);
        }
    }
}

/* Blocks in memory that the child was sent some of and has acked nothing of. */
static uint32_t unanswered_blocks(const struct world *world, uint32_t child)
{
    const struct store *store = &world->fixture->store;
    uint32_t count = 0;
    for (uint32_t index = 0; index < store->slot_count; index++) {
        const struct slot *slot = &store->slots[index];
        count += slot->object == world->object && !slot->retired &&
                 ((slot->touched & ~slot->done) >> child & 1) != 0 && slot->children[child].acked_count == 0;
    }
    return count;
}

static void check_object(struct world *world)
{
    const struct object *object = world->object;
    uint64_t received = 0, slots = 0, holds = 0, verified = 0;
    for (uint64_t symbol = 0; symbol < world->geometry->symbols; symbol++)
        received += (object->source || world->here[symbol]) * SYMBOL_BYTES_MIN;
    uint64_t last = world->geometry->symbols - 1;
    if (object->source || world->here[last])
        received -= SYMBOL_BYTES_MIN - geometry_symbol_length(world->geometry, last);
    for (uint64_t block = 0; block < world->geometry->blocks; block++) {
        bool told = world->told[block] != NO_HASH, computed = world->computed[block] != NO_HASH;
        verified += object->source || (told && computed);
        if (!object->source)
            assert_int_equal(object->hash_known[block] & 3, told | computed << 1);
    }
    for (uint32_t index = 0; index < world->fixture->store.slot_count; index++) {
        slots += world->fixture->store.slots[index].object == object;
        holds += world->holds[index];
        if (world->fixture->store.slots[index].object == object)
            assert_int_equal(world->fixture->store.slots[index].holds, world->holds[index]);
    }
    assert_int_equal(object->received_bytes, received);
    assert_int_equal(object->blocks_verified, verified);
    assert_int_equal(object->slots_in_use, slots);
    assert_int_equal(object->holds, holds);
    assert_int_equal(object_idle(object), holds == 0);
    for (uint32_t child = 0; child < world->children; child++) {
        uint64_t done = 0, backlog = 0;
        for (uint64_t block = 0; block < world->geometry->blocks; block++) {
            bool acked = block_is(world, child, block, ACKED);
            done += acked;
            backlog += !acked && block < object->read_next && bitmap_test(object->loadable, block);
        }
        if (world->dropped[child])
            continue;
        assert_int_equal(object->feeds[child].unanswered, unanswered_blocks(world, child));
        assert_int_equal(object->feeds[child].blocks_done, done);
        assert_int_equal(object->feeds[child].backlog_count, backlog);
    }
}

/* Slots that only objects, or stripes, with few of them may take now. */
static uint32_t kept_slots(const struct world *worlds, uint32_t count)
{
    const struct store *store = &worlds[0].fixture->store;
    uint32_t kept = 0;
    for (uint32_t at = 0; at < count; at++) {
        const struct object *object = worlds[at].object;
        for (uint32_t stripe = 0; stripe < object->schedule.count && object->stripe_kept != 0; stripe++) {
            uint32_t busy = 0;
            for (uint32_t index = 0; index < store->slot_count; index++)
                busy += store->slots[index].object == object && store->slots[index].class == SLOT_BUSY &&
                        stripe_of_block(&object->schedule, store->slots[index].block) == stripe;
            kept += object->stripe_kept - MIN(busy, object->stripe_kept);
        }
    }
    return kept;
}

static void check_store(struct world *worlds, uint32_t count)
{
    const struct store *store = &worlds[0].fixture->store;
    uint32_t available = 0, pinned = 0;
    for (uint32_t index = 0; index < store->slot_count; index++) {
        const struct slot *slot = &store->slots[index];
        pinned += slot->object != NULL && slot->pinned != 0;
        available += slot->object == NULL;
        for (uint32_t at = 0; at < count; at++)
            if (slot->object == worlds[at].object)
                available += slot->holds == 0 && slot_available(&worlds[at], slot);
    }
    assert_int_equal(store_available(store), available);
    assert_int_equal(store->kept_count, kept_slots(worlds, count));
    assert_int_equal(store->pinned_count, pinned);
    assert_true(pinned <= store->slot_count / 2);
}

static bool world_finished(const struct world *world)
{
    for (uint32_t child = 0; child < world->children; child++)
        if (!world->dropped[child] && !feed_done(world->object, child))
            return false;
    return object_complete(world->object) && world->flight_count == 0 && world->disk_count == 0;
}

static void world_step(struct world *world)
{
    world->steps++;
    uint64_t pick = rng_below(world->rng, 100);
    if (pick < 25) {
        if (!world->object->source)
            do_put(world);
    } else if (pick < 50 && world->children != 0) {
        uint32_t child = (uint32_t)rng_below(world->rng, world->children);
        if (chance(world, world->weight[child]))
            do_send(world, child);
    } else if (pick < 80) {
        do_flight(world);
    } else if (pick < 87) {
        do_disk_begin(world);
    } else if (pick < 94) {
        do_disk_end(world);
    } else if (pick < 99) {
        if (!world->object->source)
            do_expect(world);
    } else if (!settled(world) && world->children != 0 && chance(world, 30)) {
        do_rare(world);
    }
}

/* In up to three stripes, if the store has slots to keep for them. */
static void stripe_world(struct world *world)
{
    uint8_t weights[3];
    struct err err;
    for (uint32_t stripe = 0; stripe < 3; stripe++)
        weights[stripe] = (uint8_t)(1 + rng_below(world->rng, 4));
    uint32_t count = (uint32_t)(1 + rng_below(world->rng, 3));
    assert_true(stripe_schedule_init(&world->schedule, weights, count));
    for (uint32_t child = 0; child < world->children; child++)
        world->stripes[child] = (uint8_t)rng_below(world->rng, 1u << count);
    if (!object_stripe(world->object, &world->schedule, world->stripes, &err))
        world->schedule.count = 1;
    for (uint32_t child = 0; child < world->children; child++)
        for (uint64_t block = 0; block < world->geometry->blocks; block++)
            if (!is_fed(world, child, block))
                set_block(world, child, block, ACKED);
}

static void world_open(struct world *world, struct fixture *fixture, struct rng *rng)
{
    memset(world, 0, sizeof(*world));
    world->fixture = fixture;
    world->rng = rng;
    uint32_t block_symbols = 1 + (uint32_t)rng_below(rng, chance(world, 50) ? 200 : 20);
    uint64_t size_bytes = 1 + rng_below(rng, 30ULL * block_symbols * SYMBOL_BYTES_MIN);
    bool source = chance(world, 40);
    bool discard = !source && chance(world, 30);
    world->children = (uint32_t)rng_below(rng, CHILDREN_MAX + 1);
    world->object = open_object(fixture, geometry_of(size_bytes, SYMBOL_BYTES_MIN, block_symbols), source,
                                discard, world->children);
    world->geometry = &world->object->geometry;
    world->here = calloc(world->geometry->symbols, 1);
    world->told = calloc(world->geometry->blocks, 1);
    world->computed = calloc(world->geometry->blocks, 1);
    world->reads_bad = calloc(world->geometry->blocks, sizeof(bool));
    for (uint32_t child = 0; child < world->children; child++) {
        world->weight[child] = chance(world, 30) ? 5 : 100;
        world->fate[child] = calloc(world->geometry->symbols, 1);
    }
    stripe_world(world);
}

static void world_close(struct world *world)
{
    assert_true(object_idle(world->object));
    object_close(world->object);
    for (uint32_t child = 0; child < world->children; child++)
        free(world->fate[child]);
    free(world->here);
    free(world->told);
    free(world->computed);
    free(world->reads_bad);
}

static void run(uint64_t seed)
{
    static struct world worlds[2];
    struct rng rng;
    rng_init(&rng, seed);
    struct fixture fixture;
    fixture_open(&fixture, 4 + (uint32_t)rng_below(&rng, 8), 64, 2);
    for (int at = 0; at < 2; at++)
        world_open(&worlds[at], &fixture, &rng);
    uint64_t step = 0;
    while (!world_finished(&worlds[0]) || !world_finished(&worlds[1]) || !settled(&worlds[0])) {
        world_step(&worlds[step % 2]);
        if (step % 64 == 0)
            check_store(worlds, 2);
        if (step % 256 == 0) {
            check_silence(&worlds[step / 256 % 2]);
            check_object(&worlds[step / 256 % 2]);
        }
        if (++step > STEPS_MAX)
            fail_msg("seed %llu does not end", (unsigned long long)seed);
    }
    for (int at = 0; at < 2; at++)
        world_close(&worlds[at]);
    fixture_close(&fixture);
}

static uint64_t seed_in_hand;

/* STORE_MODEL_SEEDS=5000 in the environment makes a long run of it. */
static void store__agrees_with_the_model(void **state)
{
    (void)state;
    const char *more = getenv("STORE_MODEL_SEEDS");
    uint64_t seeds = more == NULL ? 60 : strtoull(more, NULL, 10);
    for (seed_in_hand = 1; seed_in_hand <= seeds; seed_in_hand++)
        run(seed_in_hand);
}

static int tell_seed(void **state)
{
    (void)state;
    print_message("the model ended at seed %llu\n", (unsigned long long)seed_in_hand);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(store__agrees_with_the_model, tell_seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
