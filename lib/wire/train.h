/* TRAIN: one packet of a train, with which its sender measures the path (probe/train.h). It is never
 * answered by itself: how its packets came is told by TRAIN_REPORT (wire/control.h) once the last one came
 * or is overdue. Padded with zeros to the size of the train's packets. */
#pragma once

#include "wire/header.h"

#define WIRE_TRAIN_BACKGROUND 1u /* nobody waits for it: who has jobs takes little of such */
#define WIRE_TRAIN_GATHERED                                                                                  \
    2u /* the receiver has asked several for one at a time: it reads them, and reports none that it waits for */
#define WIRE_TRAIN_TURNS_SHIFT                                                                               \
    8 /* of a joint train the upper byte says that one of so many packets goes to this peer */

#define WIRE_TRAIN_FIELDS(FIELD)                                                                             \
    FIELD(u32, train)   /* the sender's number of it */                                                      \
    FIELD(u16, index)   /* in the train */                                                                   \
    FIELD(u16, count)   /* packets of the train, WIRE_TRAIN_PACKETS_MAX at most */                           \
    FIELD(u32, rest_us) /* from this packet's departure to that of the last one, by the schedule */          \
    FIELD(u16, padding) /* zero bytes that follow */                                                         \
    FIELD(u16, flags)   /* WIRE_TRAIN_…; others: sent as 0, not looked at */

WIRE_DECLARE(train, WIRE_TRAIN_FIELDS)
#define WIRE_TRAIN_BYTES       (WIRE_HEADER_BYTES + WIRE_FIXED_BYTES(WIRE_TRAIN_FIELDS))
#define WIRE_TRAIN_PACKETS_MAX 4096

/* The datagram must be exactly WIRE_TRAIN_BYTES + padding long. */
enum wire_error wire_train_decode(const uint8_t *data, size_t length, struct wire_train *train);
/* Writes WIRE_TRAIN_BYTES; the caller sends train->padding zero bytes behind them. */
size_t wire_train_encode(uint8_t *out, const struct wire_header *header, const struct wire_train *train);
