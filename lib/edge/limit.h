/* What keeps an edge from sending more at this moment. Reported in acks (receiver's cause), `show edges` and
 * JSON. */
#pragma once

#define EDGE_LIMITS(LIMIT)                                                                                   \
    LIMIT(none)                                                                                              \
    LIMIT(application) /* nothing to send */                                                                 \
    LIMIT(congestion)  /* congestion control */                                                              \
    LIMIT(cap)         /* rate cap of plan or job */                                                         \
    LIMIT(port)        /* the port refuses packets */                                                        \
    LIMIT(uplink)      /* the node's share of its uplink */                                                  \
    LIMIT(credit)      /* the receiver's memory */                                                           \
    LIMIT(window)      /* the window of sent packets */                                                      \
    LIMIT(sender_memory)                                                                                     \
    LIMIT(sender_disk)                                                                                       \
    LIMIT(receiver_disk)                                                                                     \
    LIMIT(receiver_ring) /* what the receiver's host did not take in time */                                 \
    LIMIT(cpu)           /* the sender's processor */

#define EDGE_LIMIT_ENUM(name) EDGE_LIMIT_##name,
enum edge_limit { EDGE_LIMITS(EDGE_LIMIT_ENUM) EDGE_LIMIT_COUNT };

/* The name of the row ("credit"), as people and JSON are told; "unknown" beyond the table. */
const char *edge_limit_name(unsigned limit);
