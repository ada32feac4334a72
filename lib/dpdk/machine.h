/* What the devices of ports need of the machine, and what of it is missing: read from its /proc, /sys and /dev, without
 * trying anything. Each finding is a line that says what is missing and the command that mends it.
 *
 * A finding is fatal when the device is there and whoever starts on this machine will fail. All others depend on who
 * starts, and where: the file may be that of another machine, a service may have capabilities that the user who checks
 * has not. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "dpdk/device.h"

#define MACHINE_FINDINGS_MAX 4
#define MACHINE_TEXT_BYTES   320

struct machine {
    const char *root; /* "": this machine; a test's own tree of files */
    uint16_t count;
    struct {
        bool fatal;
        char text[MACHINE_TEXT_BYTES];
    } findings[MACHINE_FINDINGS_MAX];
};

/* Replaces the findings by those on this device; pinned_bytes: what a NIC reaches of this process's memory. */
void machine_look_device(struct machine *machine, const struct device *device, uint64_t pinned_bytes);
/* The same, of hugepages where need_bytes are wanted from them. */
void machine_look_hugepages(struct machine *machine, uint64_t need_bytes);
