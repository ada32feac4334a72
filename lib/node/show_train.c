/* The train that is kept of what operators had measured, as it is: drawing it takes milliseconds, and is its asker's. */
#include <string.h>

#include "node/peer/peer.h"
#include "node/top.h"
#include "node/train/prober.h"

bool show_train(const struct node *node, const char *name, struct ctl_reply *reply)
{
    uint16_t peer = peer_find(node, name);
    struct kept_train *kept = &node->prober->kept;
    if (peer == PEER_SELF || peer == PEER_NONE)
        return err_set(&reply->err, "there is no peer '%s'", name);
    if (kept->peer != peer && prober_is_busy(node, peer))
        return err_set(&reply->err, "no train to '%s' has been measured as yet", name);
    if (kept->peer != peer)
        return err_set(&reply->err,
                       "no train to '%s' is kept: the last probe was of another path, or none came", name);
    kept->train.capacity_bps = prober_result(node, peer)->capacity_bps;
    size_t bytes = plot_train_bytes(&kept->train);
    if (bytes > reply->room)
        return err_set(&reply->err, "the train is longer than %zu bytes", reply->room);
    memcpy(reply->text, &kept->train, bytes);
    reply->length = bytes;
    return true;
}
