/* Scripts for relay_fuzz that reach deep states: a relay in the middle of a file, a directory and a stream
 * with two children, its own jobs, disks that are slow or fail, ports that refuse, peers that restart. */
#include "relay_script.h"

/* ---- the node as a site ---- */

static void part(struct script *script, uint8_t object, uint8_t parent, uint8_t children, uint8_t blocks)
{
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_PART, SITE_JOB, object << 4, parent, children, NINE, blocks,
         object == PART_OBJECT_STREAM      ? 4
         : object == PART_OBJECT_DIRECTORY ? 64
                                           : 0);
}

static void start(struct script *script)
{
    STEP(STEP_MESSAGE, PEER_SOURCE, 5, CONTROL_START, SITE_JOB);
}

static void close_done(struct script *script)
{
    STEP(STEP_MESSAGE, PEER_SOURCE, 50, CONTROL_CLOSE_JOB, SITE_JOB, CLOSE_DONE);
    STEP(STEP_TIME, 0, 20, 0);
}

static void nine_symbols(struct script *script, uint8_t peer, uint8_t time)
{
    STEP(STEP_DATA, peer, time, SITE_JOB, 1, 0, 0, 8);
    STEP(STEP_DATA, peer, time, SITE_JOB, 1, 8, 0, 1, 0, 3 << 3, 0, 100);
}

static void seed_file(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    part(script, PART_OBJECT_FILE, 0, CHILDREN, BLOCKS_OF_4);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, 0, 3);
    start(script);
    nine_symbols(script, PEER_SOURCE, 20);
    close_done(script);
    script_end(seeds, "file", script, 1);
}

/* No disk, data from another peer than the source, two ports, IPv6; the children lose packets. */
static void seed_relay_only(struct seeds *seeds)
{
    struct script *script = script_begin(4 | 8 | 16);
    part(script, PART_OBJECT_FILE, 1 + PEER_PARENT, CHILDREN, BLOCKS_OF_4);
    script->bytes[script->length - STEP_BYTES + 3 + 2] |= 0x40;
    STEP(STEP_MODE, PEER_LEFT, 0, MODE_HONEST | MODE_LOSES);
    STEP(STEP_MODE, PEER_RIGHT, 0, MODE_HONEST | MODE_FULL);
    start(script);
    nine_symbols(script, PEER_PARENT, 20);
    STEP(STEP_MODE, PEER_RIGHT, 100, MODE_HONEST);
    STEP(STEP_TIME, 0, 100, 0);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, 0, 3);
    close_done(script);
    script_end(seeds, "relay_only", script, 1);
}

static void seed_directory(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    part(script, PART_OBJECT_DIRECTORY, 0, CHILDREN, BLOCKS_OF_4);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, 0, 3);
    start(script);
    nine_symbols(script, PEER_SOURCE, 20);
    close_done(script);
    script_end(seeds, "directory", script, 1);
}

/* A block is wrong, is asked for again, and a child asks for another one again. */
static void seed_resend(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    part(script, PART_OBJECT_FILE, 0, CHILDREN, BLOCKS_OF_4);
    start(script);
    STEP(STEP_DATA, PEER_SOURCE, 20, SITE_JOB, 1 | 8, 0, 0, 4);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, 0, 3);
    nine_symbols(script, PEER_SOURCE, 20);
    STEP(STEP_MESSAGE, PEER_LEFT, 20, CONTROL_RESEND, SITE_JOB, 0, 1, 1);
    STEP(STEP_MESSAGE, PEER_RIGHT, 20, CONTROL_HAVE, SITE_JOB, 0, 0, 3);
    STEP(STEP_TIME, 0, 60, 0);
    close_done(script);
    script_end(seeds, "resend", script, 1);
}

/* More blocks than slots, a disk that answers late and in another order, a child that takes nothing for long:
 * blocks leave memory and are read back for it. */
static void seed_slow_disk(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_PART, SITE_JOB, 0, 0, CHILDREN, POWER(15), 0, BLOCKS_OF_1);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, 0, 32);
    STEP(STEP_MODE, PEER_RIGHT, 0, MODE_HONEST & ~MODE_ACK);
    start(script);
    STEP(STEP_DISK, 0, 0, 0, 1);
    for (uint8_t symbol = 0; symbol < 32; symbol += 4) {
        STEP(STEP_DATA, PEER_SOURCE, 20, SITE_JOB, 1, symbol, 0, 4);
        STEP(STEP_DISK, 0, 20, 2, 3);
    }
    STEP(STEP_DISK, 0, 20, 0, 0);
    STEP(STEP_MODE, PEER_RIGHT, 0, MODE_HONEST);
    for (uint8_t again = 0; again < 12; again++) { /* what found no memory */
        STEP(STEP_DATA, PEER_SOURCE, 60, SITE_JOB, 1, 0, 0, 32);
        STEP(STEP_TIME, 0, 60, 0);
    }
    close_done(script);
    script_end(seeds, "slow_disk", script, 1);
}

static void hashes(struct script *script, uint8_t time, bool bad)
{
    STEP(STEP_MESSAGE, PEER_SOURCE, time, CONTROL_HASHES, SITE_JOB, bad, 0, 32);
}

/* The parent tells two hashes of each block, one after the other, while some are read back and when some are
 * written anew. */
static void seed_two_hashes(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_PART, SITE_JOB, 0, 0, CHILDREN, POWER(15), 0, BLOCKS_OF_1);
    start(script);
    for (uint8_t symbol = 0; symbol < 24; symbol += 4)
        STEP(STEP_DATA, PEER_SOURCE, 60, SITE_JOB, 1, symbol, 0, 4);
    STEP(STEP_DISK, 0, 60, 0, 1);
    STEP(STEP_MESSAGE, PEER_RIGHT, 3, CONTROL_RESEND, SITE_JOB, 0, 0, 16);
    hashes(script, 3, true);
    hashes(script, 3, false);
    STEP(STEP_DISK, 0, 20, 2, 24);
    STEP(STEP_DATA, PEER_SOURCE, 20, SITE_JOB, 1, 0, 0, 32);
    hashes(script, 20, true);
    hashes(script, 3, false);
    STEP(STEP_DISK, 0, 20, 0, 0);
    for (uint8_t again = 0; again < 12; again++) { /* what found no memory */
        STEP(STEP_DATA, PEER_SOURCE, 60, SITE_JOB, 1, 0, 0, 32);
        STEP(STEP_TIME, 0, 60, 0);
    }
    close_done(script);
    script_end(seeds, "two_hashes", script, 1);
}

static void seed_failing_disk(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    part(script, PART_OBJECT_FILE, 0, CHILDREN, BLOCKS_OF_4);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, 0, 3);
    start(script);
    STEP(STEP_DISK, 0, 0, 0, 0, 0, 1 << DISK_WRITE, 0);
    nine_symbols(script, PEER_SOURCE, 20);
    STEP(STEP_TIME, 0, 60, 0);
    STEP(STEP_DISK, 0, 0, 0, 0, (1 << DISK_ABORT) >> 8, 1 << DISK_ABORT, 0);
    close_done(script);
    script_end(seeds, "failing_disk", script, 0);
}

static void seed_same_already(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    STEP(STEP_DISK, 0, 0, 0, 0, 0, 1 << DISK_OPEN_TARGET, 0);
    part(script, PART_OBJECT_FILE, PART_EXISTS_SKIP_IF_SAME << 3, CHILDREN, BLOCKS_OF_4);
    start(script);
    STEP(STEP_TIME, 0, 100, 0);
    STEP(STEP_MESSAGE, PEER_LEFT, 20, CONTROL_RESEND, SITE_JOB, 0, 1, 1);
    STEP(STEP_TIME, 0, 100, 0);
    close_done(script);
    script_end(seeds, "same_already", script, 1);
}

/* The last fsync takes longer than all timeouts. */
static void seed_finishing(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    part(script, PART_OBJECT_FILE, 0, CHILDREN, BLOCKS_OF_4);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, 0, 3);
    start(script);
    nine_symbols(script, PEER_SOURCE, 20);
    STEP(STEP_TIME, 0, 0, 1);
    script->length -= STEP_BYTES;
    STEP(STEP_DISK, 0, 0, 0, 1);
    STEP(STEP_DATA, PEER_SOURCE, 20, SITE_JOB, 1, 8, 0, 1, 0, 3 << 3, 0, 100);
    STEP(STEP_TIME, 0, 0, 40, 39);
    STEP(STEP_DISK, 0, 0, 0, 0);
    close_done(script);
    script_end(seeds, "finishing", script, 1);
}

/* Ports refuse, report and release late, stand; the job is slowed down, paused and let go again. */
static void seed_ports(struct seeds *seeds)
{
    struct script *script = script_begin(4);
    part(script, PART_OBJECT_FILE, 0, CHILDREN, BLOCKS_OF_4);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, 0, 3);
    start(script);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_ADJUST, SITE_JOB, 1, POWER(20), 5, 10, 0);
    STEP(STEP_PORT, 0, 0, 0, 1, 1);
    STEP(STEP_DATA, PEER_SOURCE, 10, SITE_JOB, 1, 0, 0, 3);
    STEP(STEP_PORT, 0, 0, 0, 2, 1);
    STEP(STEP_DATA, PEER_SOURCE, 10, SITE_JOB, 1, 3, 0, 3);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_ADJUST, SITE_JOB, 2, 0, 5, 10, 1);
    STEP(STEP_PORT, 0, 0, 0, 3, 1);
    STEP(STEP_DATA, PEER_SOURCE, 10, SITE_JOB, 1, 6, 0, 2);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_ADJUST, SITE_JOB, 3, 0, 5, 10, 0);
    STEP(STEP_PORT, 0, 10, 1, 4);
    STEP(STEP_PORT, 0, 0, 0, 4, 1);
    STEP(STEP_DATA, PEER_SOURCE, 10, SITE_JOB, 1, 8, 0, 1, 0, 3 << 3, 0, 100);
    STEP(STEP_PORT, 0, 60, 0, 0, 1);
    STEP(STEP_PORT, 0, 10, 1, 200);
    STEP(STEP_TIME, 0, 100, 0);
    close_done(script);
    script_end(seeds, "ports", script, 1);
}

/* The newest plan before the start counts; then a child restarts, then the parent, then the source. */
static void seed_restarts(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    part(script, PART_OBJECT_FILE, 1 + PEER_PARENT, CHILDREN, BLOCKS_OF_4);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_PART, SITE_JOB, 1, 1 + PEER_PARENT, 1 << PEER_LEFT, NINE,
         BLOCKS_OF_1);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_START, SITE_JOB, 1);
    STEP(STEP_DATA, PEER_PARENT, 10, SITE_JOB, 1, 0, 0, 5);
    STEP(STEP_HELLO, PEER_LEFT, 20, 1);
    STEP(STEP_HELLO, PEER_PARENT, 20, 1);
    STEP(STEP_TIME, 0, 100, 0);
    STEP(STEP_CLOSE, PEER_SOURCE, 20, 0, 1);
    STEP(STEP_TIME, 0, 100, 0);
    script_end(seeds, "restarts", script, 0);
}

/* New sessions in the middle of a file, by handshakes of all peers and by ones that come again: nothing is lost. */
static void seed_new_sessions(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    part(script, PART_OBJECT_FILE, 0, CHILDREN, BLOCKS_OF_4);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, 0, 3);
    STEP(STEP_HELLO, PEER_SOURCE, 5, 32);
    start(script);
    for (uint8_t peer = PEER_SOURCE; peer < PEERS; peer++) {
        STEP(STEP_DATA, PEER_SOURCE, 20, SITE_JOB, 1, peer * 2, 0, 2);
        STEP(STEP_HELLO, peer, 5, 32 | 2, POWER(8), POWER(11));
        STEP(STEP_HELLO, peer, 5, 128);
        STEP(STEP_HELLO, peer | STEP_STRANGE_ADDRESS, 5, 128);
    }
    STEP(STEP_DATA, PEER_SOURCE, 20, SITE_JOB, 1, 8, 0, 1, 0, 3 << 3, 0, 100);
    STEP(STEP_TIME, 0, 60, 0);
    close_done(script);
    script_end(seeds, "new_sessions", script, 1);
}

/* Handshakes that fit nothing: names, edges, answers without a question, changed ones, more than are computed. */
static void seed_handshakes(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    part(script, PART_OBJECT_FILE, 0, CHILDREN, BLOCKS_OF_4);
    start(script);
    for (uint8_t bit = 8; bit <= 64; bit *= 2)
        STEP(STEP_HELLO, PEER_LEFT, 20, bit);
    STEP(STEP_HELLO, PEER_LEFT | STEP_STRANGE_SESSION, 20, 64);
    STEP(STEP_HELLO, PEER_RIGHT, 20, 4);
    static const uint8_t places[] = {16, 72, 120, 148, 184}; /* MAC, static key, edge, MTU, name */
    for (size_t index = 0; index < sizeof(places); index++) {
        STEP(STEP_MANGLE, 0, 60, places[index], 5);
        STEP(STEP_HELLO, PEER_RIGHT, 0, 32);
    }
    for (uint8_t count = 0; count < 12; count++)
        STEP(STEP_HELLO, PEER_PARENT, 0, 32);
    STEP(STEP_MODE, PEER_SOURCE, 0, MODE_HONEST & ~MODE_HELLO);
    STEP(STEP_CLOSE, PEER_SOURCE, 20, 1, 1);
    STEP(STEP_CLOSE, PEER_SOURCE, 20, 0, 1);
    STEP(STEP_TIME, 0, 60, 3);
    STEP(STEP_HELLO, PEER_SOURCE, 20, 32);
    STEP(STEP_HELLO, PEER_SOURCE, 20, 64, POWER(8));
    STEP(STEP_TIME, 0, 60, 0);
    script_end(seeds, "handshakes", script, 0);
}

/* Trees of no part, one twice, one beyond the stripes, a part that another cuts off; then one is told to its end. */
static void seed_offers(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_TREE, SITE_JOB);
    for (uint8_t stripe = 0; stripe < 4; stripe += 2) {
        part(script, PART_OBJECT_FILE, 0, CHILDREN, BLOCKS_OF_4 | TWO_STRIPES);
        STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_TREE, SITE_JOB, 0, 0, CHILDREN);
        STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_TREE, SITE_JOB, 0, 0, CHILDREN, stripe);
    }
    part(script, PART_OBJECT_FILE, 0, CHILDREN, BLOCKS_OF_4 | TWO_STRIPES);
    part(script, PART_OBJECT_FILE, 0, CHILDREN, BLOCKS_OF_4);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, 0, 3);
    start(script);
    nine_symbols(script, PEER_SOURCE, 20);
    close_done(script);
    script_end(seeds, "offers", script, 1);
}

static void two_trees(struct script *script, uint8_t more)
{
    part(script, PART_OBJECT_FILE, 0, 0, BLOCKS_OF_4 | TWO_STRIPES);
    script->bytes[script->length - STEP_BYTES + 3 + 2] |= more;
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_TREE, SITE_JOB, 0, 1 + PEER_PARENT,
         1 << PEER_LEFT | 1 << PEER_RIGHT, 1);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_TREE, SITE_JOB, 0, 0, 1 << PEER_LEFT | 1 << PEER_PARENT, 0);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, 0, 3);
    start(script);
}

/* Blocks 0 and 2 from the source, block 1 from the parent; also from wrong sides, as of wrong stripes, and bad. */
static void nine_in_two(struct script *script, uint8_t time)
{
    STEP(STEP_DATA, PEER_SOURCE, time, SITE_JOB, 1, 0, 0, 4);
    STEP(STEP_DATA, PEER_SOURCE, time, SITE_JOB, 1, 4, 0, 4);
    STEP(STEP_DATA, PEER_SOURCE, time, SITE_JOB, 1 | 128, 4, 0, 4);
    STEP(STEP_DATA, PEER_PARENT, time, SITE_JOB, 1, 4, 0, 4);
    STEP(STEP_DATA, PEER_PARENT, time, SITE_JOB, 1 | 8 | 128, 4, 0, 4);
    STEP(STEP_DATA, PEER_PARENT, time, SITE_JOB, 1 | 128, 4, 0, 4);
    STEP(STEP_DATA, PEER_PARENT, time, SITE_JOB, 1, 4, 0, 4, 0, 0, 0, 0, 0, 0, 7);
    STEP(STEP_DATA, PEER_SOURCE, time, SITE_JOB, 1, 8, 0, 1, 0, 3 << 3, 0, 100);
}

/* The node between two trees: its parent in one is its child in the other. */
static void seed_two_trees(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    two_trees(script, 0);
    nine_in_two(script, 20);
    STEP(STEP_MESSAGE, PEER_PARENT, 20, CONTROL_RESEND, SITE_JOB, 0, 0, 3);
    STEP(STEP_MESSAGE, PEER_LEFT, 20, CONTROL_HAVE, SITE_JOB, 0, 0, 3);
    close_done(script);
    script_end(seeds, "two_trees", script, 1);
}

/* … without a disk, while children say that some stripes have no place there, and lose packets. */
static void seed_full_stripes(struct seeds *seeds)
{
    struct script *script = script_begin(16);
    STEP(STEP_MODE, PEER_LEFT, 0, MODE_HONEST | MODE_LOSES, 1);
    STEP(STEP_MODE, PEER_RIGHT, 0, MODE_HONEST, 2);
    STEP(STEP_MODE, PEER_PARENT, 0, MODE_HONEST | MODE_FULL, 255);
    two_trees(script, 0x40);
    nine_in_two(script, 20);
    STEP(STEP_TIME, 0, 60, 0);
    STEP(STEP_MODE, PEER_PARENT, 0, MODE_HONEST);
    close_done(script);
    script_end(seeds, "full_stripes", script, 1);
}

/* A relay that has no part in one of two trees; its parent in the other restarts. */
static void seed_outside_a_tree(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    part(script, PART_OBJECT_FILE, 0, 0, BLOCKS_OF_4 | TWO_STRIPES);
    script->bytes[script->length - STEP_BYTES + 3 + 2] |= 0x40;
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_TREE, SITE_JOB, 0, 1 + PEER_PARENT, CHILDREN);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_TREE, SITE_JOB, 0, 5, 0, 1);
    start(script);
    STEP(STEP_DATA, PEER_PARENT, 20, SITE_JOB, 1, 0, 0, 4);
    STEP(STEP_DATA, PEER_PARENT, 20, SITE_JOB, 1 | 128, 4, 0, 4);
    STEP(STEP_HELLO, PEER_PARENT, 20, 1);
    STEP(STEP_TIME, 0, 100, 0);
    close_done(script);
    script_end(seeds, "outside_a_tree", script, 0);
}

/* Both orders of a lost end: the source falls silent in each phase, comes back, and has forgotten. */
static void seed_silence(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    part(script, PART_OBJECT_FILE, 0, CHILDREN, BLOCKS_OF_4);
    start(script);
    STEP(STEP_DATA, PEER_SOURCE, 10, SITE_JOB, 1, 0, 0, 5);
    STEP(STEP_MODE, PEER_SOURCE, 0, 0);
    STEP(STEP_TIME, 0, 0, 15, 15);
    STEP(STEP_MODE, PEER_SOURCE, 0, MODE_HONEST | MODE_FORGOT);
    STEP(STEP_HELLO, PEER_SOURCE, 0, 0);
    STEP(STEP_TIME, 0, 0, 15, 15);
    STEP(STEP_MODE, PEER_SOURCE, 0, 0);
    STEP(STEP_TIME, 0, 0, 40, 30);
    script->bytes[4] = 2;
    script_end(seeds, "silence", script, 0);
}

/* ---- streams ---- */

static void seed_stream(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    part(script, PART_OBJECT_STREAM, 0, CHILDREN, BLOCKS_OF_4);
    start(script);
    for (uint8_t symbol = 0; symbol < 40; symbol += 8) {
        STEP(STEP_MESSAGE, PEER_LEFT, 3, CONTROL_STREAM_ROOM, SITE_JOB, 0, symbol / 4, 4);
        STEP(STEP_MESSAGE, PEER_RIGHT, 3, CONTROL_STREAM_ROOM, SITE_JOB, 0, symbol / 4, 4);
        STEP(STEP_DATA, PEER_SOURCE, 20, SITE_JOB, 1, symbol, 0, 8);
        STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, symbol / 4, 2);
    }
    STEP(STEP_DATA, PEER_SOURCE, 20, SITE_JOB, 1, 40, 0, 1);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_STREAM_END, SITE_JOB, 0, 41);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, 10, 1);
    STEP(STEP_TIME, 0, 60, 0);
    close_done(script);
    script_end(seeds, "stream", script, 1);
}

static void rooms(struct script *script, uint8_t blocks)
{
    static const uint8_t peers[] = {PEER_LEFT, PEER_RIGHT, PEER_PARENT};
    for (size_t index = 0; index < sizeof(peers); index++)
        STEP(STEP_MESSAGE, peers[index], 3, CONTROL_STREAM_ROOM, SITE_JOB, 0, blocks, 4);
}

/* In two stripes, of which one parent drops the node, falls silent or restarts. */
static void seed_stream_in_two(struct seeds *seeds)
{
    static const char *const names[] = {"stream_in_two", "stream_dropped", "stream_silent", "stream_restart"};
    for (uint8_t how = 0; how < 4; how++) {
        struct script *script = script_begin(0);
        two_trees(script, PART_OBJECT_STREAM << 4);
        for (uint8_t symbol = 0; symbol < 40; symbol += 8) {
            rooms(script, symbol / 4);
            STEP(STEP_DATA, PEER_SOURCE, 20, SITE_JOB, 1, symbol, 0, 4);
            if (symbol < 16 || how == 0)
                STEP(STEP_DATA, PEER_PARENT, 20, SITE_JOB, 1 | 128, symbol + 4, 0, 4);
            else if (how == 1)
                STEP(STEP_MESSAGE, PEER_PARENT, 3, CONTROL_LET_GO, SITE_JOB);
            else if (how == 2)
                STEP(STEP_MODE, PEER_PARENT, 200, 0);
            else
                STEP(STEP_HELLO, PEER_PARENT, 20, 1);
            STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, symbol / 4, 2);
        }
        STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_STREAM_END, SITE_JOB, 0, 40);
        STEP(STEP_TIME, 0, 60, 0);
        close_done(script);
        script_end(seeds, names[how], script, how == 0);
    }
}

/* One child has no room and is dropped; the sink then stands still, and the parent drops the relay. */
static void seed_slow_stream(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_PART, SITE_JOB, PART_OBJECT_STREAM << 4, 0, CHILDREN, 0, 0,
         BLOCKS_OF_4, 4, POWER(10));
    STEP(STEP_MODE, PEER_RIGHT, 0, MODE_HONEST & ~MODE_ACK);
    STEP(STEP_MESSAGE, PEER_LEFT, 3, CONTROL_STREAM_ROOM, SITE_JOB, 0, 90);
    start(script);
    for (uint8_t symbol = 0; symbol < 40; symbol += 8) {
        STEP(STEP_DATA, PEER_SOURCE, 60, SITE_JOB, 1, symbol, 0, 8);
        STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, SITE_JOB, 0, symbol / 4, 2);
    }
    STEP(STEP_DISK, 0, 0, 0, 1);
    STEP(STEP_DATA, PEER_SOURCE, 60, SITE_JOB, 1, 20, 0, 32);
    STEP(STEP_TIME, 0, 200, 0);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_LET_GO, SITE_JOB);
    STEP(STEP_DISK, 0, 60, 0, 0);
    close_done(script);
    script_end(seeds, "slow_stream", script, 0);
}

/* ---- both ---- */

/* An own job and three of others at once, of all kinds; the own one is cancelled. */
static void seed_many(struct seeds *seeds)
{
    struct script *script = script_begin(4);
    script->bytes[4] = 2; /* all job slots are tried at the end */
    STEP(STEP_DISK, 0, 0, 3, 0, POWER(15), 7);
    STEP(STEP_CONTROL, 0, 0, 0, 1);
    for (uint8_t job = 0; job < 3; job++)
        STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_PART, job, job << 4, 0, CHILDREN, NINE, BLOCKS_OF_4,
             job == PART_OBJECT_FILE ? 0 : 8);
    for (uint8_t job = 0; job < 3; job++)
        STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_START, job);
    for (uint8_t job = 0; job < 3; job++)
        STEP(STEP_DATA, PEER_SOURCE, 10, job, 1, 0, 0, 8);
    for (uint8_t job = 0; job < 3; job++)
        STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_HASHES, job, 0, 0, 3);
    for (uint8_t job = 0; job < 2; job++)
        STEP(STEP_DATA, PEER_SOURCE, 10, job, 1, 8, 0, 1, 0, 3 << 3, 0, 100);
    STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_STREAM_END, 2, 0, 8);
    STEP(STEP_TIME, 0, 60, 0);
    STEP(STEP_CONTROL, 0, 60, 1, 1);
    for (uint8_t job = 0; job < 3; job++)
        STEP(STEP_MESSAGE, PEER_SOURCE, 3, CONTROL_CLOSE_JOB, job);
    STEP(STEP_TIME, 0, 60, 0);
    script_end(seeds, "many", script, 3);
}

/* Forged acks, probes, strangers, mangled datagrams, a shutdown at the end. */
static void seed_forged(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    part(script, PART_OBJECT_FILE, 0, CHILDREN, BLOCKS_OF_4);
    start(script);
    STEP(STEP_MODE, PEER_LEFT, 0, MODE_HONEST & ~MODE_ACK);
    nine_symbols(script, PEER_SOURCE, 10);
    STEP(STEP_ACK, PEER_LEFT, 10, 0, 0, 4, 2, 1, 2, 10, POWER(12));
    STEP(STEP_ACK, PEER_LEFT, 10, 2, 0, 200, 2, 1, POWER(20), 10, POWER(12));
    STEP(STEP_ACK, PEER_LEFT, 10, 1);
    STEP(STEP_PROBE, PEER_LEFT, 10, 0, 1, 100, 3, 4, 5, 20);
    STEP(STEP_PROBE, PEER_LEFT, 10, 1, 1, 100, 3, 4, 5, 2);
    STEP(STEP_MANGLE, 0, 0, 8, 1);
    STEP(STEP_DATA, PEER_SOURCE, 10, SITE_JOB, 1, 0, 0, 1);
    STEP(STEP_DATA, PEER_SOURCE | STEP_STRANGE_ADDRESS, 10, SITE_JOB, 1, 0, 0, 1);
    STEP(STEP_DATA, PEER_SOURCE | STEP_STRANGE_SESSION, 10, SITE_JOB, 1, 0, 0, 1);
    STEP(STEP_MESSAGE, PEER_LEFT, 10, CONTROL_MEASURE, 3, POWER(8), 0);
    STEP(STEP_TIME, 0, 60, 0);
    STEP(STEP_SHUTDOWN, 0, 10, 0);
    STEP(STEP_TIME, 0, 60, 0);
    script_end(seeds, "forged", script, 0);
}

/* Trains come in, whole, in part, twice and two at a time; own ones are reported so and otherwise, or not at all. */
static void seed_trains(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    STEP(STEP_PROBE, PEER_LEFT, 10, 2, 1, 100, 0, 20, 100, 19, 1);
    STEP(STEP_PROBE, PEER_LEFT, 10, 2, 2, 100, 3, 20, POWER(20), 9, 1);
    STEP(STEP_PROBE, PEER_RIGHT, 10, 2, 1, 100, 0, 20, 10, 5, 2);
    STEP(STEP_PROBE, PEER_LEFT, 10, 2, 2, 100, 3, 21, 10, 3, 0);
    STEP(STEP_PROBE, PEER_LEFT, 10, 2, 3, 100, 0, POWER(12), 10, 9, 3);
    STEP(STEP_PROBE, PEER_LEFT, 10, 2, 3, 100, 0, 5, 10, 9, 3);
    STEP(STEP_TIME, 0, 60, 0);
    STEP(STEP_CONTROL, 0, 10, 7, PEER_LEFT);
    STEP(STEP_MESSAGE, PEER_LEFT, 5, CONTROL_TRAIN_REPORT, 1, 0, 1, 0, 2, 32, 0, 0, POWER(40), 32, 1,
         POWER(10));
    STEP(STEP_MESSAGE, PEER_LEFT, 5, CONTROL_TRAIN_REPORT, 2, 0, 1, 0, 2, 64, 0, 0, POWER(40), 32, 1,
         POWER(13));
    STEP(STEP_MESSAGE, PEER_LEFT, 5, CONTROL_TRAIN_REPORT, 2, 0, 1, 0, 2, 64, 32, 32, POWER(41), 32, 1, 0);
    STEP(STEP_MESSAGE, PEER_LEFT, 5, CONTROL_TRAIN_REPORT, 3, 1, 0, POWER(8));
    STEP(STEP_MESSAGE, PEER_LEFT, 5, CONTROL_TRAIN_REPORT, 4, 0, 1, 0, 2, 8, 0, 200, 255, 8, 9, 255);
    STEP(STEP_MESSAGE, PEER_RIGHT, 5, CONTROL_AVAILABLE, 0, 3, POWER(20), POWER(19), POWER(21), 100);
    STEP(STEP_PORT, 0, 5, 0, 1, 0);
    STEP(STEP_TIME, 0, 60, 3);
    STEP(STEP_CONTROL, 0, 10, 7, PEER_RIGHT);
    STEP(STEP_HELLO, PEER_RIGHT, 10, 1);
    STEP(STEP_TIME, 0, 60, 3);
    script_end(seeds, "trains", script, 0);
}

/* Others ask for paths; this node asks others, and has all pairs measured: answers come, of all kinds and of none. */
static void seed_asks(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    STEP(STEP_MESSAGE, PEER_LEFT, 10, CONTROL_PROBE_ASK, 1, PEER_RIGHT, 100, 60, POWER(20), 2);
    STEP(STEP_MESSAGE, PEER_RIGHT, 10, CONTROL_PROBE_ASK, 2, PEER_LEFT, 0, 0, 0, 0);
    STEP(STEP_MESSAGE, PEER_LEFT, 10, CONTROL_PROBE_ASK, 3, 200, 0, 0, 0, 0);
    STEP(STEP_TIME, 0, 60, 3);
    STEP(STEP_CONTROL, 0, 10, 8, PEER_LEFT, PEER_RIGHT);
    STEP(STEP_MESSAGE, PEER_LEFT, 10, CONTROL_PROBE_ANSWER, 1, 0, 1, 0, POWER(30), POWER(29), POWER(31),
         POWER(32), POWER(20), POWER(22), 2, POWER(20));
    STEP(STEP_CONTROL, 0, 10, 9, 0, 0);
    STEP(STEP_TIME, 0, 60, 3);
    STEP(STEP_CONTROL, 0, 10, 9, 1, 0);
    STEP(STEP_TIME, 0, 60, 0);
    STEP(STEP_MESSAGE, PEER_LEFT, 10, CONTROL_PROBE_ANSWER, 2, 0, 2, 0, POWER(30), POWER(30), 0, 0, 0, 0, 2,
         0);
    STEP(STEP_MESSAGE, PEER_RIGHT, 10, CONTROL_PROBE_ANSWER, 3, 3, 0, 0);
    STEP(STEP_MESSAGE, PEER_RIGHT, 10, CONTROL_PROBE_ANSWER, 4, 0, 1, 0, POWER(30), POWER(31), POWER(29));
    STEP(STEP_TIME, 0, 60, 3);
    STEP(STEP_CONTROL, 0, 10, 9, 2, 0);
    STEP(STEP_CONTROL, 0, 10, 10, PEER_LEFT);
    STEP(STEP_TIME, 0, 60, 3);
    script_end(seeds, "asks", script, 0);
}

void fuzz_seeds(struct seeds *seeds)
{
    seeds->changes = 85;
    seed_file(seeds);
    seed_trains(seeds);
    seed_asks(seeds);
    seed_relay_only(seeds);
    seed_directory(seeds);
    seed_resend(seeds);
    seed_slow_disk(seeds);
    seed_two_hashes(seeds);
    seed_failing_disk(seeds);
    seed_same_already(seeds);
    seed_finishing(seeds);
    seed_ports(seeds);
    seed_restarts(seeds);
    seed_new_sessions(seeds);
    seed_handshakes(seeds);
    seed_offers(seeds);
    seed_two_trees(seeds);
    seed_full_stripes(seeds);
    seed_stream_in_two(seeds);
    seed_outside_a_tree(seeds);
    seed_silence(seeds);
    seed_stream(seeds);
    seed_slow_stream(seeds);
    relay_source_seeds(seeds);
    seed_many(seeds);
    seed_forged(seeds);
}
