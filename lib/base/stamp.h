/* Who said when a packet left or came. */
#pragma once

/* Of times that the kernel notes. Their standard deviation on a host at rest; not 0, which says exact: clumps are not looked
 * for then (probe/points.c). And how long ago one may be: so long a process may have stood still. */
#define STAMP_KERNEL_NOISE_NS   1000
#define STAMP_KERNEL_AGE_NS_MAX 10000000000ULL

enum stamp_kind {
    STAMP_SOFTWARE = 0, /* the program, by the clock that it reads */
    STAMP_HARDWARE = 1, /* whoever moved the packet: the device, the kernel, the call that sent it */
    STAMP_VIRTUAL = 2   /* the simulator: exact */
};
