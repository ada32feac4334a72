/* TRIAL: where packets are few, a stay in PARK begins with 3/4 of what was delivered before. At that rate only chance
 * takes any (room.h), so that a few dozen packets tell whether the loss that led there was by chance, which rounds at
 * little less than the path takes need minutes for. */
#pragma once

#include "edge/bql/path.h"
#include "edge/bql/room.h"

#define BQL_TRIAL_PACKETS 32

struct bql_trial {
    uint64_t told;   /* it lasts until room has told of so many packets; 0: none is under way */
    uint64_t end_ns; /* … or until then */
};

/* Begins where that helps. Returns its rate, or rate_bps. */
uint64_t bql_trial_begin(struct bql_trial *trial, const struct bql_room *room, const struct bql_path *path,
                         uint64_t rate_bps);
/* Rounds say nothing meanwhile. */
bool bql_trial_goes_on(const struct bql_trial *trial);
/* True: it ends now. */
bool bql_trial_ends(struct bql_trial *trial, const struct bql_room *room, uint64_t now_ns);
