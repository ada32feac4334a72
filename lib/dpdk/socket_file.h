/* The file of a Unix socket that a driver listens on: one that an earlier process left behind would make it fail. */
#pragma once

/* Removes `path` if it is a socket on which nobody listens; anything else stays. */
void socket_file_clear(const char *path);
