/* Who said when a packet left or came. */
#pragma once

enum stamp_kind {
    STAMP_SOFTWARE = 0, /* the program, by the clock that it reads */
    STAMP_HARDWARE = 1, /* whoever moved the packet: the device, the kernel, the call that sent it */
    STAMP_VIRTUAL = 2   /* the simulator: exact */
};
