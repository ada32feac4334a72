/* Available bandwidth from a CSV text: a header row "from\to,name,…", then one row per sender; Mbit/s with up
 * to 6 decimals, at least 1 kbit/s of which counts; the diagonal is not read, an empty cell is not known. */
#pragma once

#include "base/err.h"
#include "ctl/paths.h"

/* The text is cut in place. Sites come in the order of the header, then of the rows. False: err says where and
 * what is wrong. */
bool avb_parse(char *text, const char *name, struct ctl_paths *paths, struct err *err);
