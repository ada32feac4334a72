/* The control socket of an appliance of this machine, where nobody says which. */
#pragma once

#include "base/name.h"

/* That of the node, or, name NULL, of the only appliance that can be reached. EXIT_OK; else EXIT_UNREACHABLE or, where
 * there are several or the name is none, EXIT_USAGE, after a message that says where was looked and what was found. */
int find_socket(const char *name, char path[PATH_BYTES]);
