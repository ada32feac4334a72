/* What somebody without keys sends between two nodes that have some, and what he has recorded. */
#include "recorded.h"
#include "base/rng.h"
#include "wire/data.h"

/* From the peer's address, without any key: each type and length. */
static void node_rx__without_keys(void **state)
{
    (void)state;
    begin_recorded();
    uint32_t session = peer_session(&world.nodes[1].node->peers[0])->in;
    uint8_t datagram[1500] = {0};
    for (uint8_t type = 0; type <= WIRE_TYPE_COUNT; type++)
        for (uint32_t length = 0; length <= sizeof(datagram); length += length < 300 ? 1 : 97) {
            bool shakes = type == WIRE_INITIATION || type == WIRE_RESPONSE;
            struct wire_header header = {.version = WIRE_VERSION,
                                         .type = type,
                                         .key_id = shakes ? 0 : 1,
                                         .session = type == WIRE_INITIATION ? 0 : session,
                                         .packet_number = shakes ? 0 : 100000 + length};
            wire_header_put(datagram, &header);
            refused(0, datagram, length, "");
        }
    static const struct {
        struct wire_header header;
        const char *counter;
    } rows[] = {
        {{.version = 1, .type = WIRE_HELLO}, "drop_version"},
        {{.version = WIRE_VERSION, .type = WIRE_HELLO, .session = 1}, "drop_session"},
        {{.version = WIRE_VERSION, .type = WIRE_CLOSE, .session = 1}, "drop_session"},
        {{.version = WIRE_VERSION, .type = WIRE_CLOSE}, "drop_value"},
    };
    for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
        wire_header_put(datagram, &rows[row].header);
        if (rows[row].header.session == 1)
            store_be32(datagram + 4, session ^ NODE_SESSIONS << 3);
        refused(0, datagram, WIRE_HEADER_BYTES + 4, rows[row].counter);
    }
    store_be32(datagram + 4, session);
    datagram[2] = 0;
    refused(0, datagram, WIRE_HEADER_BYTES + 1, "drop_key"); /* key id stripped */
    end_intact();
}

/* All handshakes of both, old ones too, again and again: nothing is made anew. */
static void node_session__replayed_handshakes(void **state)
{
    (void)state;
    begin_recorded();
    unsigned count = 0;
    for (unsigned round = 0; round < 200; round++) {
        for (uint32_t index = 0; index < recorded_count; index++) {
            const struct recorded *entry = &recorded[index];
            if (entry->data[1] != WIRE_INITIATION && entry->data[1] != WIRE_RESPONSE)
                continue;
            world_inject(&world, entry->from, entry->to, entry->data, entry->length);
            world_inject(&world, entry->to, entry->from, entry->data,
                         entry->length); /* and back to its author */
            count++;
        }
        world_run_until(&world, world.now_ns + NS_PER_MS);
    }
    assert_true(count >= 400);
    end_intact();
}

/* The first datagram of this type is held while others come that differ from it in one bit. */
static uint8_t changed_type;
static uint32_t changed_bits;
static uint64_t drops_then;
static uint16_t changed_from;

static void change_first(uint16_t from, uint16_t to, const uint8_t *data, uint32_t length)
{
    uint8_t datagram[2048];
    (void)to;
    if (changed_bits > 0 || data[1] != changed_type)
        return;
    uint32_t covered = changed_type == WIRE_DATA    ? WIRE_DATA_BYTES + WIRE_TAG_BYTES
                       : changed_type == WIRE_PROBE ? 64
                                                    : length;
    changed_from = from;
    for (uint32_t bit = 0; bit < 8 * covered; bit++, changed_bits++) {
        memcpy(datagram, data, length);
        datagram[bit / 8] ^= (uint8_t)(1u << bit % 8);
        refused(from, datagram, length, "");
    }
    drops_then = drops(1 - from);
}

/* Each bit of what a tag covers, changed, before the true one comes: one drop for each, and that one is taken. */
static void node_rx__changed_bits(void **state)
{
    (void)state;
    static const enum wire_type types[] = {WIRE_DATA, WIRE_MESSAGE, WIRE_ACK, WIRE_HELLO, WIRE_PROBE};
    for (size_t row = 0; row < sizeof(types) / sizeof(types[0]); row++) {
        begin_recorded();
        changed_type = (uint8_t)types[row];
        changed_bits = 0;
        world.on_datagram = change_first;
        world_run_until(&world, world.now_ns + 5 * NS_PER_S);
        assert_true(changed_bits >= 8 * WIRE_HEADER_BYTES);
        assert_int_equal(drops(1 - changed_from), drops_then);
        struct node_edge_view view;
        assert_true(node_edge_view(world.nodes[0].node, 0, &view));
        assert_int_equal(view.lost_packets, 0);
        end_intact();
    }
}

/* What a peer said before it was killed neither keeps it up nor brings it back; its next start is known at once. */
static void node_rx__replays_and_a_restart(void **state)
{
    (void)state;
    begin_recorded();
    world_kill(&world, 1);
    for (unsigned round = 0; round < 100; round++) {
        for (uint32_t index = round % 7; index < recorded_count; index += 40)
            if (recorded[index].from == 1)
                world_inject(&world, 1, 0, recorded[index].data, recorded[index].length);
        world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
    }
    struct node_edge_view view;
    assert_true(node_edge_view(world.nodes[0].node, 0, &view) && !view.up);
    world_start(&world, 1);
    uint64_t from_ns = world.now_ns;
    for (view.up = false; !view.up;) {
        for (uint32_t index = 0; index < recorded_count; index++)
            if (recorded[index].from == 1 && recorded[index].data[1] == WIRE_INITIATION)
                world_inject(&world, 1, 0, recorded[index].data, recorded[index].length);
        world_run_until(&world, world.now_ns + 5 * NS_PER_MS);
        assert_true(node_edge_view(world.nodes[0].node, 0, &view));
        assert_true(world.now_ns - from_ns < 2 * NS_PER_S);
    }
    world_end(&world);
}

/* Bodies are not covered by the packet's tag: one bit of each body changed, before the true one comes. */
static void arrive__changed_bodies(void **state)
{
    (void)state;
    begin_recorded();
    struct rng rng;
    rng_init(&rng, 1);
    world.on_datagram = record;
    uint64_t count = 0, before = world_counter(&world, 1, "drop_data_body");
    for (unsigned round = 0; round < 100; round++) {
        recorded_count = 0;
        world_run_until(&world, world.now_ns + NS_PER_MS);
        for (uint32_t index = 0; index < recorded_count; index++) {
            struct recorded *entry = &recorded[index];
            if (entry->from != 0 || entry->data[1] != WIRE_DATA)
                continue;
            uint32_t bit = 8 * (WIRE_DATA_BYTES + WIRE_TAG_BYTES) +
                           rng_below(&rng, 8 * (entry->length - WIRE_DATA_BYTES - WIRE_TAG_BYTES));
            entry->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            world_inject(&world, 0, 1, entry->data, entry->length);
            count++;
        }
    }
    world.on_datagram = NULL;
    assert_true(count > 500);
    assert_int_equal(world_counter(&world, 1, "drop_data_body"), before + count);
    assert_int_equal(world_counter(&world, 1, "blocks_bad"), 0);
    end_intact();
}

/* What the dead source sent last never came, but is on the wire again and again, with a tag that is right and a body that is
 * not: that is no sign of life. */
static void arrive__changed_bodies_of_the_dead(void **state)
{
    (void)state;
    begin_recorded();
    recorded_count = 0;
    world.on_datagram = record;
    world_run_until(&world, world.now_ns + NS_PER_MS);
    world.on_datagram = NULL;
    world_kill(&world, 0);
    world_lose(&world);
    uint64_t from_ns = world.now_ns, injected = 0, before = world_counter(&world, 1, "drop_data_body");
    struct node_edge_view view;
    do {
        for (uint32_t index = 0; index < 100 * recorded_count; index++) {
            struct recorded *entry = &recorded[index % recorded_count];
            if (entry->from != 0 || entry->data[1] != WIRE_DATA)
                continue;
            entry->data[entry->length - 1] ^= (uint8_t)(1 + injected % 255);
            world_inject(&world, 0, 1, entry->data, entry->length);
            entry->data[entry->length - 1] ^= (uint8_t)(1 + injected % 255);
            injected++;
        }
        world_run_until(&world, world.now_ns + 10 * NS_PER_MS);
        assert_true(node_edge_view(world.nodes[1].node, 0, &view));
        /* Four intervals, and a second. */
        assert_true(world.now_ns - from_ns <
                    4 * world.nodes[1].config.hello_interval_ns + 11 * NS_PER_S / 10);
    } while (view.up);
    assert_true(injected > 10000);
    assert_int_equal(world_counter(&world, 1, "drop_data_body"), before + injected);
    world_end(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(node_rx__without_keys),  cmocka_unit_test(node_session__replayed_handshakes),
        cmocka_unit_test(node_rx__changed_bits),  cmocka_unit_test(node_rx__replays_and_a_restart),
        cmocka_unit_test(arrive__changed_bodies), cmocka_unit_test(arrive__changed_bodies_of_the_dead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
