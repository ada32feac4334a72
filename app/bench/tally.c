#include "app/bench/tally.h"

#include "base/units.h"

void tally_turn(struct tally *tally, uint64_t ns, uint64_t packets, uint64_t frames)
{
    if (ns > TALLY_LONG_NS) {
        tally->long_turns++;
        tally->long_ns += ns;
        tally->long_packets += packets;
        return;
    }
    tally->turns++;
    tally->ns += ns;
    tally->packets += packets;
    tally->frames += frames;
}

void tally_report(const struct tally *tally, struct report *report)
{
    uint64_t packets = MAX(tally->packets, (uint64_t)1), turns = MAX(tally->turns, (uint64_t)1);
    uint64_t all = MAX(tally->packets + tally->long_packets, (uint64_t)1);
    report_fixed(report, "ns_per_packet", tally->ns * 10 / packets, 1);
    report_fixed(report, "ns_per_packet_all", (tally->ns + tally->long_ns) * 10 / all, 1);
    report_fixed(report, "frames_per_turn", tally->frames * 10 / turns, 1);
    report_u64(report, "turns", tally->turns);
    report_u64(report, "turns_long", tally->long_turns);
}
