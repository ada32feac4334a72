/* What every program says of itself. */
#pragma once

#include <stdbool.h>

/* The release and the commit it was built from, as "0.1.0 (1a2b3c4d5e6f)". */
const char *version_text(void);
/* `--version` stands in the command line before "--": true, and "PROGRAM VERSION (COMMIT)" was printed. */
bool version_asked(int argc, char **argv, const char *program);
