#include "netem/truth.h"

#include "base/check.h"
#include "base/units.h"

void netem_truth_init(struct netem_truth *truth, struct netem_truth_block *blocks, uint32_t places)
{
    CHECK(places > 1);
    *truth = (struct netem_truth){.blocks = blocks, .filling = blocks, .places = places};
    blocks[0].count = 0;
}

uint32_t netem_truth_places(const struct netem_config *config, uint64_t duration_ns)
{
    const uint64_t least = 16, most = UINT32_MAX;
    uint64_t packets = bytes_within(config->background_bps, duration_ns) / FULL_PACKET_WIRE_BYTES;
    for (unsigned index = 0; index < config->load_count; index++)
        packets += bytes_within(netem_load_bps(&config->loads[index]), duration_ns) /
                   netem_load_packet_bytes(&config->loads[index]);
    return (uint32_t)MIN(least + packets / NETEM_TRUTH_BLOCK * 3 / 2, most);
}

static struct netem_truth_block *block_at(const struct netem_truth *truth, uint64_t number)
{
    return &truth->blocks[number % truth->places];
}

static uint64_t oldest(const struct netem_truth *truth)
{
    return truth->newest >= truth->places ? truth->newest - truth->places + 1 : 0;
}

static struct netem_truth_block *block_for(struct netem_truth *truth, uint64_t at_ns)
{
    struct netem_truth_block *block = truth->filling;
    if (block->count == NETEM_TRUTH_BLOCK || (block->count > 0 && at_ns - block->start_ns > UINT32_MAX)) {
        truth->filling = block = block_at(truth, ++truth->newest);
        block->count = 0;
    }
    if (block->count == 0) {
        block->start_ns = at_ns;
        block->taken_bits = truth->taken_bits;
        block->refused_bits = truth->refused_bits;
    }
    return block;
}

void netem_truth_note(struct netem_truth *truth, uint64_t at_ns, uint64_t left_ns, uint32_t bytes,
                      bool refused)
{
    CHECK(bytes < NETEM_TRUTH_REFUSED);
    struct netem_truth_block *block = block_for(truth, at_ns);
    unsigned place = block->count++;
    uint64_t wait_ns = elapsed_ns(left_ns, at_ns);
    block->after_ns[place] = (uint32_t)(at_ns - block->start_ns);
    block->wait_ns[place] = (uint32_t)MIN(wait_ns, (uint64_t)UINT32_MAX);
    block->bytes[place] = (uint16_t)(bytes | (refused ? NETEM_TRUTH_REFUSED : 0));
    truth->packets++;
    truth->refused += refused;
    *(refused ? &truth->refused_bits : &truth->taken_bits) += (uint64_t)bytes * 8;
}

/* ---- questions ---- */

enum moment { CAME, LEFT };

/* When packet `place` of the block came or left: neither goes back from one to the next. */
static uint64_t time_of(const struct netem_truth_block *block, unsigned place, enum moment moment)
{
    uint64_t at_ns = block->start_ns + block->after_ns[place];
    return moment == CAME ? at_ns : at_ns + block->wait_ns[place];
}

/* The last block whose first packet came, or left, by at_ns; the oldest when none is. */
static uint64_t find(const struct netem_truth *truth, uint64_t at_ns, enum moment moment)
{
    uint64_t low = oldest(truth), high = truth->newest;
    while (low < high) {
        uint64_t middle = high - (high - low) / 2;
        if (time_of(block_at(truth, middle), 0, moment) <= at_ns)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Bits of all packets that came, or left, by at_ns: those taken, or those refused. */
static uint64_t bits_by(const struct netem_truth *truth, uint64_t at_ns, enum moment moment, bool refused)
{
    const struct netem_truth_block *block = block_at(truth, find(truth, at_ns, moment));
    if (block->count == 0)
        return 0;
    uint64_t bits = refused ? block->refused_bits : block->taken_bits;
    for (unsigned place = 0; place < block->count && time_of(block, place, moment) <= at_ns; place++)
        if (((block->bytes[place] & NETEM_TRUTH_REFUSED) != 0) == refused)
            bits += (uint64_t)(block->bytes[place] & ~NETEM_TRUTH_REFUSED) * 8;
    return bits;
}

static uint64_t window_bits(const struct netem_truth *truth, uint64_t from_ns, uint64_t until_ns,
                            enum moment moment, bool refused)
{
    CHECK(until_ns >= from_ns);
    return bits_by(truth, until_ns, moment, refused) - bits_by(truth, from_ns, moment, refused);
}

bool netem_truth_covers(const struct netem_truth *truth, uint64_t from_ns)
{
    return oldest(truth) == 0 || block_at(truth, oldest(truth))->start_ns <= from_ns;
}

uint64_t netem_truth_cross_bits(const struct netem_truth *truth, uint64_t from_ns, uint64_t until_ns)
{
    return window_bits(truth, from_ns, until_ns, CAME, false);
}

uint64_t netem_truth_refused_bits(const struct netem_truth *truth, uint64_t from_ns, uint64_t until_ns)
{
    return window_bits(truth, from_ns, until_ns, CAME, true);
}

uint64_t netem_truth_served_bits(const struct netem_truth *truth, uint64_t from_ns, uint64_t until_ns)
{
    return window_bits(truth, from_ns, until_ns, LEFT, false);
}
