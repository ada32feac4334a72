/* What acks say of the edge, to the law of liveness. */
#include "edge/sender_internal.h"

void sender_look(struct sender *sender, const struct congestion_sample *sample)
{
    const struct sender_counters *counters = &sender->counters;
    if (sample->limited == EDGE_LIMIT_congestion)
        sender->congested_ns += elapsed_ns(sample->now_ns, sender->sampled_ns);
    sender->sampled_ns = sample->now_ns;
    if (!liveness_due(&sender->liveness, sample->now_ns))
        return;
    struct congestion_view view = {.duty = CONGESTION_OWES_NOTHING};
    if (sender->congestion.type->view != NULL)
        sender->congestion.type->view(&sender->congestion, &view);
    const struct liveness_look look = {.now_ns = sample->now_ns,
                                       .began_ns = sender->began_ns,
                                       .asleep_ns = counters->paused_ns,
                                       .congested_ns = sender->congested_ns,
                                       .came_bytes = sender->delivered_bytes,
                                       .came_packets = counters->acked_packets,
                                       .lost_packets = counters->lost_packets - counters->spurious_repairs,
                                       .marked_packets = counters->marked_packets,
                                       .silences = counters->silences,
                                       .rtt_ns = sender->rtt.smoothed_ns,
                                       .queue_ns = view.base_old ? 0 : view.queue_ns,
                                       .target_ns = view.target_ns,
                                       .duty = view.duty};
    liveness_on_look(&sender->liveness, &look);
}
