/* With whose rights a path of a job is opened: the process may do more than the one who asks. Whoever accepts
 * the request fills it, whoever opens obeys it, and all between only pass it on. */
#pragma once

#include <stdint.h>

#define CALLER_GROUPS_MAX 256

/* A user of this machine, as the kernel knew him when he asked. */
struct caller {
    uint32_t user, group;
    uint32_t group_count;
    uint32_t groups[CALLER_GROUPS_MAX];
};

enum rights_kind {
    RIGHTS_OWN = 0, /* those of the process */
    RIGHTS_CALLER,  /* the caller's: the kernel judges each file as if he opened it himself */
    RIGHTS_BELOW    /* those of the process, but nothing outside a directory and through no symbolic link */
};

struct rights {
    uint8_t kind;         /* enum rights_kind */
    uint16_t below_bytes; /* BELOW: so much of the path is the directory, whose own path may have links */
    struct caller caller; /* CALLER, BELOW */
};
