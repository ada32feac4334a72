/* Where an appliance keeps what its node file does not place: the control socket and the ring of planners, by default
 * DIRECTORY/NAME.sock and .ring, and the private key, DIRECTORY/NAME.key. A user who may not write where a service does
 * has places of his own (XDG Base Directory Specification), so that nobody needs root to try it.
 *
 * In this order, the first that this user can write in, or make:
 *   run:   /run/sluice, $XDG_RUNTIME_DIR/sluice, those of state
 *   state: /var/lib/sluice, $XDG_STATE_HOME/sluice, ~/.local/state/sluice */
#pragma once

#include "conf/app_config.h"

enum place { PLACE_RUN = 0, PLACE_STATE };

/* Directory `index` of the order, from 0; whether it is there or not. False: there are no more. */
bool place_directory(enum place place, unsigned index, char path[PATH_BYTES]);
/* The socket, ring and key of the node that the file says nothing of. Makes nothing. */
void places_complete(struct app_config *config);
/* The key of that node, the first that this user can read, else where one can be made. */
void places_key_file(const char *name, char path[PATH_BYTES]);
/* With what leads there. False: errno says why. */
bool place_make(const char *directory, unsigned mode);
