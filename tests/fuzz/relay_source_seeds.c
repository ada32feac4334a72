/* Scripts where the node is the source of the job. */
#include "relay_script.h"

static void verified(struct script *script, uint8_t time)
{
    for (uint8_t peer = 0; peer < PEERS; peer++)
        STEP(STEP_MESSAGE, peer, time, CONTROL_STATUS, OWN_JOB, SITE_VERIFIED, 0, 0, 0, 0, POWER(30), 0xff);
}

static void seed_source(struct seeds *seeds)
{
    struct script *script = script_begin(64);
    STEP(STEP_CONTROL, 0, 10, 4);
    STEP(STEP_CONTROL, 0, 10, 0, 1);
    STEP(STEP_TIME, 0, 100, 0);
    STEP(STEP_CONTROL, 0, 10, 2, 1, 15, POWER(24), 6, 10, 0);
    STEP(STEP_MESSAGE, PEER_LEFT, 10, CONTROL_STATUS, OWN_JOB, 0, POWER(10), 0, POWER(9), 0, POWER(20), 0, 1,
         2, POWER(24));
    for (uint8_t what = 0; what < CTL_SHOW_COUNT; what++)
        STEP(STEP_CONTROL, 0, 0, 3, what, what);
    verified(script, 10);
    STEP(STEP_TIME, 0, 60, 0);
    STEP(STEP_CONTROL, 0, 10, 3, CTL_SHOW_manifest, 0);
    script_end(seeds, "source", script, 1);
}

static void seed_source_unplanned(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    STEP(STEP_CONTROL, 0, 0, 6, 3);
    STEP(STEP_CONTROL, 0, 10, 0, 1);
    STEP(STEP_TIME, 0, 100, 0);
    script_end(seeds, "source_unplanned", script, 0);
}

/* A directory down a given tree; its parent falls silent. */
static void seed_source_tree(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    STEP(STEP_DISK, 0, 0, 3, 1, POWER(15), 0);
    STEP(STEP_CONTROL, 0, 10, 0, 1, 0, CHILDREN | 16);
    STEP(STEP_TIME, 0, 100, 0);
    STEP(STEP_MODE, PEER_RIGHT, 0, 0);
    STEP(STEP_MESSAGE, PEER_LEFT, 10, CONTROL_STATUS, OWN_JOB, 0, 20, 0, 10);
    STEP(STEP_TIME, 0, 0, 60, 59);
    script_end(seeds, "source_tree", script, 0);
}

/* A site refuses and is left out, another one has the file already; the disk shrinks the file. */
static void seed_source_left_out(struct seeds *seeds)
{
    struct script *script = script_begin(0);
    STEP(STEP_DISK, 0, 0, 3, 0, POWER(20), 1);
    STEP(STEP_MODE, PEER_LEFT, 0, MODE_HONEST & ~MODE_SITE);
    STEP(STEP_CONTROL, 0, 0, 0, 1);
    STEP(STEP_MESSAGE, PEER_LEFT, 100, CONTROL_MEASUREMENT, OWN_JOB, POWER(30), POWER(30), 3, 3, POWER(10),
         POWER(10), 1, 0);
    STEP(STEP_MESSAGE, PEER_LEFT, 100, CONTROL_CONFIRM, OWN_JOB, CONFIRM_REFUSED, 0);
    STEP(STEP_TIME, 0, 60, 0);
    STEP(STEP_MESSAGE, PEER_RIGHT, 10, CONTROL_HAVE, OWN_JOB, 0, 0, 1);
    STEP(STEP_MESSAGE, PEER_RIGHT, 10, CONTROL_RESEND, OWN_JOB, 0, 1, 1);
    verified(script, 10);
    STEP(STEP_TIME, 0, 60, 0);
    script_end(seeds, "source_left_out", script, 0);
}

static void seed_source_stream(struct seeds *seeds)
{
    struct script *script = script_begin(128);
    STEP(STEP_DISK, 0, 0, 0, 1);
    STEP(STEP_DISK, 0, 0, 3, 0, 0, 0, 12);
    STEP(STEP_CONTROL, 0, 0, 0, 1, PART_OBJECT_STREAM, CHILDREN, 0, 0, 0, 0, POWER(20));
    STEP(STEP_DISK, 0, 10, 1, 0, DISK_OK);
    STEP(STEP_TIME, 0, 100, 0);
    for (unsigned feed = 0; feed < 12; feed++)
        STEP(STEP_DISK, 0, 20, 1, 0, DISK_OK, 100);
    STEP(STEP_DISK, 0, 0, 0, 0);
    STEP(STEP_MESSAGE, PEER_LEFT, 3, CONTROL_STREAM_ROOM, OWN_JOB, 0, 90);
    STEP(STEP_MESSAGE, PEER_RIGHT, 3, CONTROL_STREAM_ROOM, OWN_JOB, 0, 90);
    STEP(STEP_TIME, 0, 100, 0);
    verified(script, 10);
    STEP(STEP_TIME, 0, 60, 0);
    script_end(seeds, "source_stream", script, 1);
}

void relay_source_seeds(struct seeds *seeds)
{
    seed_source(seeds);
    seed_source_unplanned(seeds);
    seed_source_tree(seeds);
    seed_source_left_out(seeds);
    seed_source_stream(seeds);
}
