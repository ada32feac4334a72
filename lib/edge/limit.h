/* What keeps an edge from sending more at this moment. Reported in acks (receiver's cause), `show edges` and
 * JSON. */
#pragma once

#define EDGE_LIMITS(LIMIT)                                                                                   \
    LIMIT(none, "none")                                                                                      \
    LIMIT(application, "nothing to send")                                                                    \
    LIMIT(congestion, "congestion control")                                                                  \
    LIMIT(cap, "rate cap of plan or job")                                                                    \
    LIMIT(port, "port refuses packets")                                                                      \
    LIMIT(uplink, "node's uplink share")                                                                     \
    LIMIT(credit, "receiver's memory")                                                                       \
    LIMIT(window, "sent-packet window")                                                                      \
    LIMIT(sender_memory, "sender's memory")                                                                  \
    LIMIT(sender_disk, "sender's disk")                                                                      \
    LIMIT(receiver_disk, "receiver's disk")                                                                  \
    LIMIT(cpu, "sender's processor")

#define EDGE_LIMIT_ENUM(name, text) EDGE_LIMIT_##name,
enum edge_limit { EDGE_LIMITS(EDGE_LIMIT_ENUM) EDGE_LIMIT_COUNT };

/* The text of the row; "unknown" beyond the table. */
const char *edge_limit_text(unsigned limit);
/* The short name of the row ("credit"), as in JSON. */
const char *edge_limit_name(unsigned limit);
