/* Somebody else claims what is this node's, an address or its name: when to say so. Anybody can claim in whatever name,
 * so a claim that is going on must not hide another one.
 *
 * Guarantee: the first claim is said at once, the same again in growing gaps (base/gaps.h), another one as soon as
 * CLAIM_OTHER_NS lie behind the newest line. After CLAIM_OVER_NS without any it is forgotten. */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "base/gaps.h"
#include "base/name.h"

#define CLAIM_OTHER_NS   GAPS_FIRST_NS
#define CLAIM_OVER_NS    (60 * NS_PER_S)
#define CLAIM_TEXT_BYTES 256

/* Zero: there was none. */
struct claim {
    struct gaps gaps;
    uint64_t said_ns, seen_ns;
    char said[CLAIM_TEXT_BYTES]; /* by the newest line */
};

/* A claim was seen; true: it is to be said. */
static inline bool claim_say(struct claim *claim, const char *text, uint64_t now_ns)
{
    bool other = strcmp(text, claim->said) != 0;
    claim->seen_ns = now_ns;
    if (other && elapsed_ns(now_ns, claim->said_ns) >= CLAIM_OTHER_NS)
        gaps_end(&claim->gaps);
    if (!gaps_say(&claim->gaps, now_ns))
        return false;
    claim->said_ns = now_ns;
    name_copy(claim->said, sizeof(claim->said), text);
    return true;
}

/* None was seen; true: from now on it is over. */
static inline bool claim_over(struct claim *claim, uint64_t now_ns)
{
    if (claim->gaps.gap_ns == 0 || elapsed_ns(now_ns, claim->seen_ns) < CLAIM_OVER_NS)
        return false;
    *claim = (struct claim){.said = ""};
    return true;
}
