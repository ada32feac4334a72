#include "app/ctl/find.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/ctl/answer.h"
#include "app/exit_usage.h"
#include "base/name.h"
#include "conf/places.h"

#define SUFFIX      ".sock"
#define NAMES_BYTES 512

struct found {
    unsigned count;
    char path[PATH_BYTES];   /* of the first */
    char names[NAMES_BYTES]; /* of all: "london, tokyo" */
};

/* Somebody listens whom this user may ask; one that was left behind, or is another user's, is not counted. */
static bool is_listening(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!name_copy(address.sun_path, sizeof(address.sun_path), path))
        return false;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool there =
        fd >= 0 && (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 || errno == EAGAIN);
    if (fd >= 0)
        close(fd);
    return there;
}

static void add(struct found *found, const char *directory, const char *file)
{
    char path[PATH_BYTES + NAME_MAX];
    size_t length = strlen(file), tail = sizeof(SUFFIX) - 1, listed = strlen(found->names);
    if (length <= tail || strcmp(file + length - tail, SUFFIX) != 0)
        return;
    snprintf(path, sizeof(path), "%s/%s", directory, file);
    if (!is_listening(path))
        return;
    if (found->count++ == 0)
        name_copy(found->path, sizeof(found->path), path);
    snprintf(found->names + listed, sizeof(found->names) - listed, "%s%.*s", listed > 0 ? ", " : "",
             (int)(length - tail), file);
}

static void look(struct found *found, const char *directory, const char *name)
{
    char file[NAME_BYTES + sizeof(SUFFIX)];
    if (name != NULL) {
        snprintf(file, sizeof(file), "%s" SUFFIX, name);
        add(found, directory, file);
        return;
    }
    DIR *folder = opendir(directory);
    if (folder == NULL)
        return;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        add(found, directory, entry->d_name);
    closedir(folder);
}

int find_socket(const char *name, char path[PATH_BYTES])
{
    struct found found = {.count = 0};
    char directory[PATH_BYTES], looked[2 * PATH_BYTES] = "";
    if (name != NULL && !name_valid(name)) {
        complain("\"%s\" is no name that a node can have", name);
        return EXIT_USAGE;
    }
    for (unsigned index = 0; place_directory(PLACE_RUN, index, directory); index++) {
        look(&found, directory, name);
        size_t length = strlen(looked);
        snprintf(looked + length, sizeof(looked) - length, "%s%s", length > 0 ? ", " : "", directory);
        if (name != NULL && found.count > 0)
            break;
    }
    if (found.count == 1)
        return name_copy(path, PATH_BYTES, found.path) ? EXIT_OK : EXIT_UNREACHABLE;
    if (found.count > 1) {
        complain("several appliances: %s: which one? (-n NAME)", found.names);
        return EXIT_USAGE;
    }
    complain("no appliance%s%s is running here, or this user may not reach it: looked in %s (-s SOCKET)",
             name != NULL ? " " : "", name != NULL ? name : "", looked);
    return EXIT_UNREACHABLE;
}
