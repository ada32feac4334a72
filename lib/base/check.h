/* CHECK: states what must hold; a broken one is a bug in this program and aborts, in release builds too.
 * Never used on input: a bad packet is counted, an operator's mistake is a struct err. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                                     \
    do {                                                                                                     \
        if (__builtin_expect(!(condition), 0)) {                                                             \
            fprintf(stderr, "%s:%d: CHECK failed: %s\n", __FILE__, __LINE__, #condition);                    \
            abort();                                                                                         \
        }                                                                                                    \
    } while (0)
