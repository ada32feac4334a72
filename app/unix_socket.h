/* Unix stream sockets, as the appliance and sluicectl use them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* All of it. False, with errno: the other end is gone, or took nothing for as long as the socket waits. */
bool unix_socket_send(int fd, const char *bytes, size_t length);
