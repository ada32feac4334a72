#include "disk/fully.h"

#include <errno.h>
#include <unistd.h>

int64_t read_fully(int fd, uint8_t *data, uint64_t length, uint64_t offset)
{
    uint64_t got = 0;
    while (got < length) {
        ssize_t part = pread(fd, data + got, length - got, (off_t)(offset + got));
        if (part == 0)
            break;
        if (part < 0 && errno != EINTR)
            return -1;
        got += part < 0 ? 0 : (uint64_t)part;
    }
    return (int64_t)got;
}

bool write_fully(int fd, const uint8_t *data, uint64_t length, uint64_t offset)
{
    uint64_t put = 0;
    while (put < length) {
        ssize_t part = pwrite(fd, data + put, length - put, (off_t)(offset + put));
        if (part == 0)
            errno = EIO; /* POSIX has no reason for it; going on would not end */
        if (part == 0 || (part < 0 && errno != EINTR))
            return false;
        put += part < 0 ? 0 : (uint64_t)part;
    }
    return true;
}
