/* Writes a small text as a whole: NAME.part, fsync unless durable says none, rename over whatever NAME
 * was. Blocking calls, made by the disk threads only. */
#pragma once

#include "store/disk.h"

/* DISK_OK: the reply's text is the path; else it says what failed. */
enum disk_status manifest_serve(const struct disk_request *request, struct disk_reply *reply);
