/* Values with units as text, exact in integers: parsing refuses what is not a whole number of the base unit
 * (ns, bit/s, bytes, parts per 10^9), formatting picks the largest unit that leaves a whole number. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum value_kind { VALUE_RATE, VALUE_TIME, VALUE_SIZE, VALUE_SHARE, VALUE_SKEW };

#define VALUE_TEXT_BYTES 32

/* A number, decimals allowed, and a unit of the kind. Without a unit only 0 and sizes (bytes) are
 * accepted. */
bool value_parse(enum value_kind kind, const char *text, uint64_t *value);
/* A number without unit, times 10^decimals: ("13.4", 3) is 13400. */
bool value_parse_decimal(const char *text, unsigned decimals, uint64_t *value);
/* With an optional sign: times and skews that may lie below zero. */
bool value_parse_signed(enum value_kind kind, const char *text, int64_t *value);
void value_format(enum value_kind kind, uint64_t value, char text[VALUE_TEXT_BYTES]);
/* "a rate like 100Mbps or 1Gbps": for messages. */
const char *value_form(enum value_kind kind);
