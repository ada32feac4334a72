#include "directories.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/places.h"

#define MODE 0755

bool directories_create(const struct node_config *config, struct err *err)
{
    for (uint16_t index = 0; index < config->directory_count; index++) {
        const struct node_directory *directory = &config->directories[index];
        if (directory->create && !place_make(directory->path, MODE))
            return err_set(err, "directories[%u]: %s can't be made: %s", index, directory->path,
                           strerrordesc_np(errno));
    }
    return true;
}

void directories_warn(const struct node_config *config)
{
    for (uint16_t index = 0; index < config->directory_count; index++) {
        const struct node_directory *directory = &config->directories[index];
        struct stat stat_of;
        bool there = stat(directory->path, &stat_of) == 0;
        int error = errno;
        if (directory->create && !there && error == ENOENT)
            continue;
        if (!there)
            fprintf(stderr, "%s: directories[%u]: %s: %s: jobs that write there will fail%s%s\n",
                    config->name, index, directory->path, strerrordesc_np(error),
                    error == ENOENT ? "; create: yes makes it, or: mkdir -p " : "",
                    error == ENOENT ? directory->path : "");
        else if (S_ISDIR(stat_of.st_mode) && access(directory->path, W_OK | X_OK) != 0)
            fprintf(stderr,
                    "%s: directories[%u]: %s: this user may not write there: jobs that do will fail\n",
                    config->name, index, directory->path);
    }
}
