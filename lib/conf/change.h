/* Changes of a parsed document from a command line: "links.default.loss=1%", "jobs[0].size=2GB". */
#pragma once

#include "conf/reader.h"

/* The value is YAML itself: a scalar, [a list] or {a: map}. What stands at the path is replaced; keys that
 * are missing are added, items of lists are not. False: an error was added. Names with dots are found as they
 * stand. */
bool conf_change(struct conf_reader *reader, const char *assignment);
