/* This node's key at its start: made where there is none, and the one that the others expect. */
#pragma once

#include "app/key_file.h"
#include "conf/app_config.h"

/* The roster has keys: packets are sealed. Without: there are no peers, or insecure.h. */
bool own_key_is_needed(const struct app_config *config);
/* make: where there is no key file; else that is an error. Without keys in the roster the file is not looked at. False: err
 * says what to do. Who calls wipes *own. */
bool own_key_ready(const struct app_config *config, bool make, struct key_pair *own, struct err *err);
