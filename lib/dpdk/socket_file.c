#include "dpdk/socket_file.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

void socket_file_clear(const char *path)
{
    struct stat about;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    if (length < 0 || (size_t)length >= sizeof(address.sun_path) || lstat(path, &about) != 0 ||
        !S_ISSOCK(about.st_mode))
        return;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return;
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 && errno == ECONNREFUSED)
        unlink(path);
    close(fd);
}
