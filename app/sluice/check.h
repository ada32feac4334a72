/* What this machine lacks for the appliance of the node file, as lines on stderr. */
#pragma once

#include "app.h"

/* After app_memory: each port's device, hugepages where a NIC wants them, directories. False: what a device lacks is fatal,
 * whoever starts here. */
bool check_machine(const struct app *app);
/* Of ports that came up: what their virtual devices will miss all the same. */
void check_started(const struct app *app);
