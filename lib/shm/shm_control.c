/* Generation and heartbeat become messages; records are decoded and filtered. */
#include "shm/shm_control.h"

#include "base/check.h"

#define REFUSED_PER_POLL_MAX 16

void shm_control_init(struct shm_control *control, struct shm_ring *ring, uint64_t now_ns)
{
    *control = (struct shm_control){.ring = ring, .beats_changed_ns = now_ns};
}

bool shm_control_send(struct shm_ring *ring, const struct ctl_msg *msg)
{
    uint8_t record[CTL_RECORD_BYTES_MAX];
    size_t length = ctl_encode(msg, shm_ring_sequence(ring), record, sizeof(record));
    CHECK(length > 0);
    return shm_ring_push(ring, record, length);
}

enum shm_received shm_control_receive(struct shm_ring *ring, struct ctl_msg *msg, struct err *err)
{
    uint8_t record[CTL_RECORD_BYTES_MAX];
    uint32_t sequence;
    size_t length = shm_ring_pop(ring, record, sizeof(record));
    if (length == 0)
        return SHM_NOTHING;
    return ctl_decode(msg, &sequence, record, length, err) ? SHM_MESSAGE : SHM_REFUSED;
}

/* Looks at the planner's signs of life; true when they make a message. */
static bool watch(struct shm_control *control, struct ctl_msg *msg, uint64_t now_ns)
{
    uint32_t generation = shm_ring_generation(control->ring);
    uint64_t beats = shm_ring_peer_beats(control->ring);
    bool attached = generation != control->generation;
    bool revived = !control->present && control->generation != 0 && beats != control->beats;
    if (attached || beats != control->beats)
        control->beats_changed_ns = now_ns;
    control->beats = beats;
    /* A HELLO that comes too soon is made up for later: the generation stays noticed as new. */
    bool may_greet = control->hello_ns == 0 || elapsed_ns(now_ns, control->hello_ns) >= SHM_HELLO_GAP_NS;
    if ((attached || revived) && may_greet) {
        control->present = true;
        control->generation = generation;
        control->hello_ns = now_ns;
        msg->type = CTL_PLANNER_HELLO;
        msg->correlation = generation;
        return true;
    }
    if (!control->present || elapsed_ns(now_ns, control->beats_changed_ns) <= SHM_SILENCE_NS)
        return false;
    control->present = false;
    msg->type = CTL_PLANNER_GONE;
    msg->correlation = control->generation;
    return true;
}

bool shm_control_poll(struct shm_control *control, struct ctl_msg *msg, uint64_t now_ns)
{
    shm_ring_beat(control->ring);
    if (watch(control, msg, now_ns))
        return true;
    for (unsigned refused = 0; refused < REFUSED_PER_POLL_MAX; refused++) {
        struct err err;
        enum shm_received received = shm_control_receive(control->ring, msg, &err);
        if (received == SHM_NOTHING)
            return false;
        if (received == SHM_MESSAGE &&
            (msg->type == CTL_PLAN || msg->type == CTL_PLAN_FAILED || msg->type == CTL_HISTORY))
            return true;
        control->refused++;
    }
    return false;
}
