/* What this machine lacks for the appliance of the node file, as lines on stderr. */
#pragma once

#include "app.h"

/* True: the node has keys; or it stores nothing, or its packets stay on this machine. False: err says which device is in
 * the way, and what to do. */
bool check_insecure(const struct app_config *config, struct err *err);
/* After app_memory: each port's device, hugepages where a NIC wants them, directories. False: what a device lacks is fatal,
 * whoever starts here. */
bool check_machine(const struct app *app);
/* Of ports that came up: what their virtual devices will miss all the same. */
void check_started(const struct app *app);
