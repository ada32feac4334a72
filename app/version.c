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
    bool asked = false;
    for (int index = 1; index < argc && strcmp(argv[index], "--") != 0 && !asked; index++)
        asked = strcmp(argv[index], "--version") == 0;
    if (asked)
        printf("%s %s\n", program, version_text());
    return asked;
}
