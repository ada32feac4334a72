/* A relay of the job that knows its secret, and seals other text with it for the site below: what is wrong is found by the
 * source's hash, asked for again, and never becomes the file; whoever is fed by others has the file. */
#include "check.h"
#include "node/job/job.h"
#include "sizes/nonces.h"
#include "sizes/sizes.h"

#define RELAY     1
#define BELOW     2
#define BESIDE    3
#define ALL       UINT64_MAX
#define BAD_BLOCK 3
#define SYMBOL    5 /* of each block that is forged */

static const uint16_t tree[][2] = {{0, RELAY}, {RELAY, BELOW}, {0, BESIDE}};

static struct job *job_at(uint16_t node)
{
    return &world.nodes[node].node->jobs[0];
}

static void begin(void)
{
    world_init(&world, 4, 1);
    for (uint16_t node = 0; node < 4; node++) {
        world.nodes[node].config.primitives = &sizes_primitives;
        world.nodes[node].config.keys_by_name = true;
    }
    world.source_bytes = 20000000;
    world.rate_bps[RELAY][BELOW] = 20000000; /* so that the relay has blocks before the one below does */
    start_all();
    world_run_until(&world, 2 * NS_PER_S);
    struct job_spec spec = world_job(&world, "j");
    give_tree(&spec, tree, 3);
    run_job_at(0, &spec);
    assert_true(run_until_state(0, "j", JOB_RUNNING, 5 * NS_PER_S));
}

/* Sealed as it would be, but for its first byte; 0 changes it back. */
static void forge_symbol(const struct job *job, const struct slot *slot, uint8_t change)
{
    static struct body_cipher cipher;
    uint32_t bytes = job->geometry.symbol_bytes;
    uint64_t symbol = slot->block * job->geometry.block_symbols + SYMBOL;
    uint32_t length = geometry_symbol_length(&job->geometry, symbol);
    uint8_t *body = slot->data + (size_t)SYMBOL * bytes, *tag = slot->tags + (size_t)SYMBOL * SEAL_TAG_BYTES;
    if (cipher.primitives == NULL)
        body_cipher_init(&cipher, &sizes_primitives);
    assert_true(body_open(&cipher, job->secret, symbol, body, length, body, tag));
    body[0] = world_source_byte(symbol * bytes) ^ change;
    nonces_forget(); /* no honest node would */
    body_seal(&cipher, job->secret, symbol, body, length, body, tag);
    nonces_forget();
}

/* What the relay has on its own disk is changed in its memory. */
static void forge(uint64_t block, uint8_t change)
{
    const struct job *job = job_at(RELAY);
    const struct store *store = &world.nodes[RELAY].node->store;
    for (uint32_t index = 0; job->object != NULL && index < store->slot_count; index++) {
        const struct slot *slot = &store->slots[index];
        bool held =
            slot->object == job->object && !slot->retired && job->object->state[slot->block] >= BLOCK_HELD;
        if (held && slot->symbols > SYMBOL && (block == ALL || block == slot->block))
            forge_symbol(job, slot, change);
    }
}

static bool is_over(void)
{
    const struct node_job_view *view = world_view(&world, 0, "j");
    return view == NULL || view->state > JOB_RUNNING;
}

static void forge_until(uint64_t block, uint64_t bad)
{
    for (unsigned round = 0; round < 60000 && !is_over() && world_counter(&world, BELOW, "blocks_bad") < bad;
         round++) {
        forge(block, 1);
        world_run_until(&world, world.now_ns + NS_PER_MS);
    }
}

static void assert_right(uint16_t node)
{
    const struct world_file *file = &world.nodes[node].files[job_at(node)->slot];
    assert_true(file->finished);
    for (uint64_t offset = 0; offset < file->size; offset++)
        if (file->data[offset] != world_source_byte(offset))
            fail_msg("byte %llu", (unsigned long long)offset);
}

static void relay__forges_a_block(void **state)
{
    (void)state;
    begin();
    forge_until(BAD_BLOCK, 1);
    forge(BAD_BLOCK, 0);
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_state(0, "j", JOB_DONE);
    assert_int_equal(world_counter(&world, BELOW, "blocks_bad"), 1);
    assert_int_equal(world_counter(&world, BELOW, "drop_data_body"),
                     0); /* sealed by one who has the secret */
    for (uint16_t node = RELAY; node <= BESIDE; node++)
        assert_right(node);
    world_end(&world);
}

static void relay__forges_all(void **state)
{
    (void)state;
    begin();
    forge_until(ALL, UINT64_MAX);
    run_until_over(0, "j", 60 * NS_PER_S);
    assert_text(0, "j", "n2: 16 blocks came bad, and none good, from n1");
    assert_false(world.nodes[BELOW].files[job_at(BELOW)->slot].finished);
    assert_right(RELAY);
    assert_right(BESIDE);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relay__forges_a_block),
        cmocka_unit_test(relay__forges_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
