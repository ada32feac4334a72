/* pread and pwrite that go on until all is done: the kernel may do less than it was asked for (a signal, a
 * full disk, 2 GiB at once), and then sets no errno. Blocking calls, made by the disk threads only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The bytes read; fewer only at the end of the file; -1: errno. */
int64_t read_fully(int fd, uint8_t *data, uint64_t length, uint64_t offset);
/* False: errno. */
bool write_fully(int fd, const uint8_t *data, uint64_t length, uint64_t offset);
