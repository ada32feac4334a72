/* The words of `show`, all from the one list CTL_SHOWS. */
#include "ctl/ctl.h"

#include <string.h>

static const struct {
    const char *name, *help;
    enum { NODE = 0, PROGRAM, JOB, PLAN } who;
} shows[CTL_SHOW_COUNT] = {
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
    return show < CTL_SHOW_COUNT && shows[show].who == PROGRAM;
}

bool ctl_show_is_of_job(unsigned show)
{
    return show < CTL_SHOW_COUNT && (shows[show].who == JOB || shows[show].who == PLAN);
}

enum ctl_show ctl_show_find(const char *name)
{
    unsigned show = 0;
    while (show < CTL_SHOW_COUNT && strcmp(shows[show].name, name) != 0)
        show++;
    return (enum ctl_show)show;
}

enum ctl_show ctl_show_find_option(const char *option)
{
    enum ctl_show show = strncmp(option, "--", 2) == 0 ? ctl_show_find(option + 2) : CTL_SHOW_COUNT;
    return show < CTL_SHOW_COUNT && shows[show].who == PLAN ? show : CTL_SHOW_COUNT;
}
