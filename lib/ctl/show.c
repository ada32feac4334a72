/* The words of `show`, all from the one list CTL_SHOWS. */
#include "ctl/ctl.h"

#include <string.h>

static const struct {
    const char *name, *help;
    bool is_of_program;
} shows[CTL_SHOW_COUNT] = {
#define PROGRAM                       true
#define NODE                          false
#define CTL_SHOW_ROW(name, who, help) [CTL_SHOW_##name] = {#name, help, who},
    CTL_SHOWS(CTL_SHOW_ROW)};

const char *ctl_show_name(unsigned show)
{
    return show < CTL_SHOW_COUNT ? shows[show].name : "unknown";
}

const char *ctl_show_help(unsigned show)
{
    return show < CTL_SHOW_COUNT ? shows[show].help : "";
}

bool ctl_show_is_of_program(unsigned show)
{
    return show < CTL_SHOW_COUNT && shows[show].is_of_program;
}

enum ctl_show ctl_show_find(const char *name)
{
    unsigned show = 0;
    while (show < CTL_SHOW_COUNT && strcmp(shows[show].name, name) != 0)
        show++;
    return (enum ctl_show)show;
}
