/* What operators say of paths, from CSV texts: a header row "from\to,name,…", then one row per sender; the diagonal is
 * not read, an empty cell is not known. Available bandwidth: Mbit/s with up to 6 decimals, at least 1 kbit/s of which counts.
 * Distances: in any unit, with up to 3 decimals. */
#pragma once

#include "base/err.h"
#include "ctl/paths.h"

/* Into paths, which may have sites already and what other matrices say: new sites come in the order of the header, then
 * of the rows. The text is cut in place. False: err says where and what is wrong. */
bool avb_parse(char *text, const char *name, struct ctl_paths *paths, struct err *err);
bool distance_parse(char *text, const char *name, struct ctl_paths *paths, struct err *err);
