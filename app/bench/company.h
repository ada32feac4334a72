/* Who shares a pacer's thread where packets are sealed: a tag for each that is to depart, and a node that is asked for a
 * session some times a second, each time by a good initiation, which costs it three scalar multiplications and a key
 * generation. */
#pragma once

#include "seal/primitives.h"

#define COMPANY_A_SECOND 50

/* Makes all initiations of the time beforehand. */
void company_start(const struct primitives *primitives, uint64_t duration_ns, uint64_t now_ns);
/* The tag of a packet that is to depart. */
void company_seal(void);
/* Takes the initiation that is due, and what answers it. */
void company_turn(uint64_t now_ns);
/* Handshakes that the node read. */
uint64_t company_handshakes(void);
