/* Which known word somebody may have meant who wrote an unknown one. */
#pragma once

#define NEAR_EDITS_MAX 2  /* a word further away was not meant */
#define NEAR_BYTES_MAX 32 /* of words that are compared; longer ones are near to nothing */

/* The best so far. Zeroed: none. */
struct near {
    const char *word; /* NULL: none, or several equally near ones */
    unsigned edits;   /* 0: none was near */
};

/* How many letters must be put in, left out, replaced, or swapped with their neighbour to make one of the other; more than
 * NEAR_EDITS_MAX where that, or the length of either, is beyond the bounds above. */
unsigned near_edits(const char *a, const char *b);
/* One known word. It is near when fewer than half of its letters are wrong, and NEAR_EDITS_MAX at most. `known` must stay as long
 * as the result is used. */
void near_look(struct near *near, const char *written, const char *known);
