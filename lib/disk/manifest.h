/* Writes a small text as a whole: NAME.part, fsync unless durable says none, rename over whatever NAME was.
 */
#pragma once

#include "store/disk.h"

enum disk_status manifest_serve(const struct disk_request *request, struct disk_reply *reply);
