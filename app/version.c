#include "app/version.h"

#include <stdio.h>
#include <string.h>

#include "commit.h"

const char *version_text(void)
{
    return SLUICE_VERSION " (" SLUICE_COMMIT ")";
}

bool version_asked(int argc, char **argv, const char *program)
{
    bool asked = argc > 1 && strcmp(argv[1], "--version") == 0;
    if (asked)
        printf("%s %s\n", program, version_text());
    return asked;
}
