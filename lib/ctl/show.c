/* The words of `show`, all from the one list CTL_SHOWS. */
#include "ctl/ctl.h"

#include <string.h>

static const struct {
    const char *name, *help;
} shows[CTL_SHOW_COUNT] = {
#define CTL_SHOW_ROW(name, help) [CTL_SHOW_##name] = {#name, help},
    CTL_SHOWS(CTL_SHOW_ROW)};

const char *ctl_show_name(unsigned show)
{
    return show < CTL_SHOW_COUNT ? shows[show].name : "unknown";
}

const char *ctl_show_help(unsigned show)
{
    return show < CTL_SHOW_COUNT ? shows[show].help : "";
}

enum ctl_show ctl_show_find(const char *name)
{
    unsigned show = 0;
    while (show < CTL_SHOW_COUNT && strcmp(shows[show].name, name) != 0)
        show++;
    return (enum ctl_show)show;
}
