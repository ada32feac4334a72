/* Who said when a packet left or came. */
#pragma once

enum stamp_kind {
    STAMP_SOFTWARE = 0, /* the program, by the clock that it reads */
    STAMP_HARDWARE = 1, /* the device */
    STAMP_VIRTUAL = 2   /* the simulator: exact */
};
