#include "conf/places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARENTS_MODE 0755

/* One step of both orders. */
struct step {
    bool state;           /* of state too, not of run alone */
    const char *variable; /* NULL: none, `below` is absolute */
    const char *below;
};

bool place_directory(enum place place, unsigned index, char path[PATH_BYTES])
{
    static const struct step steps[] = {{false, NULL, "/run/sluice"},
                                        {false, "XDG_RUNTIME_DIR", "/sluice"},
                                        {true, NULL, "/var/lib/sluice"},
                                        {true, "XDG_STATE_HOME", "/sluice"},
                                        {true, "HOME", "/.local/state/sluice"}};
    for (unsigned at = 0; at < sizeof(steps) / sizeof(steps[0]); at++) {
        if (place == PLACE_STATE && !steps[at].state)
            continue;
        const char *base = steps[at].variable == NULL ? "" : getenv(steps[at].variable);
        if (base == NULL || (steps[at].variable != NULL && base[0] != '/'))
            continue;
        int length = snprintf(path, PATH_BYTES, "%s%s", base, steps[at].below);
        if (length < PATH_BYTES && index-- == 0)
            return true;
    }
    return false;
}

/* This user can write there, or make it. */
static bool is_usable(const char *directory)
{
    char path[PATH_BYTES];
    name_copy(path, sizeof(path), directory);
    while (access(path, F_OK) != 0) {
        char *slash = errno == ENOENT ? strrchr(path, '/') : NULL;
        if (slash == NULL)
            return false;
        slash[slash == path] = '\0';
    }
    return access(path, W_OK | X_OK) == 0;
}

/* Where this user can write; the first of all where he can nowhere, so that what fails later names it. */
static void usable(enum place place, char path[PATH_BYTES])
{
    for (unsigned index = 0; place_directory(place, index, path); index++)
        if (is_usable(path))
            return;
    place_directory(place, 0, path);
}

/* False: too long. */
static bool file_in(const char *directory, const char *name, const char *suffix, char *path, size_t room)
{
    char whole[PATH_BYTES + NAME_BYTES + 8];
    snprintf(whole, sizeof(whole), "%s/%s%s", directory, name, suffix);
    return name_copy(path, room, whole);
}

void places_key_file(const char *name, char path[PATH_BYTES])
{
    char directory[PATH_BYTES];
    for (unsigned index = 0; place_directory(PLACE_STATE, index, directory); index++)
        if (file_in(directory, name, ".key", path, PATH_BYTES) && access(path, R_OK) == 0)
            return;
    usable(PLACE_STATE, directory);
    file_in(directory, name, ".key", path, PATH_BYTES);
}

void places_complete(struct app_config *config)
{
    const char *name = config->node.name;
    char directory[PATH_BYTES];
    if (config->key_file[0] == '\0')
        places_key_file(name, config->key_file);
    usable(PLACE_RUN, directory);
    if (config->control_socket[0] == '\0')
        file_in(directory, name, ".sock", config->control_socket, sizeof(config->control_socket));
    if (config->ring_by_name)
        file_in(directory, name, ".ring", config->control_ring, sizeof(config->control_ring));
}

bool place_make(const char *directory, unsigned mode)
{
    char part[PATH_BYTES];
    name_copy(part, sizeof(part), directory);
    for (char *slash = part + 1; (slash = strchr(slash, '/')) != NULL; *slash++ = '/') {
        *slash = '\0';
        if (mkdir(part, PARENTS_MODE) != 0 && errno != EEXIST)
            return false;
    }
    return mkdir(part, mode) == 0 || errno == EEXIST;
}
