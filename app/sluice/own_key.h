/* This node's key at its start: made where there is none, and the one that the others expect. */
#pragma once

#include "app/key_file.h"
#include "conf/app_config.h"

/* What a key file is read for. */
enum own_key_for {
    OWN_KEY_CHECK, /* a look at the configuration: whose file it is is only said, another user may start the appliance */
    OWN_KEY_START, /* where there is none it is made */
    OWN_KEY_USE    /* by an appliance that runs, or is about to */
};

/* This node, or any of its peers, has a key: packets are sealed. Without: there are no peers, or insecure.h. */
bool own_key_is_needed(const struct app_config *config);
/* No key file is an error but at a start. Without keys in the roster the file is not looked at. False: err says what to do.
 * Who calls wipes *own. */
bool own_key_ready(const struct app_config *config, enum own_key_for use, struct key_pair *own,
                   struct err *err);
