/* The train that is kept of what operators had measured, as a picture. */
#include <string.h>

#include "node/peer/peer.h"
#include "node/top.h"
#include "node/train/prober.h"
#include "probe/plot.h"

/* What was written so far; length is beyond room once there was more than fits. */
static void append(void *user, const char *piece)
{
    struct ctl_reply *reply = user;
    size_t bytes = strlen(piece);
    if (reply->length + bytes < reply->room)
        memcpy(reply->text + reply->length, piece, bytes + 1);
    reply->length += bytes;
}

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
    plot_begin(&kept->plot, prober_result(node, peer)->capacity_bps);
    plot_read(&kept->plot, &kept->record);
    reply->length = 0;
    plot_svg(&kept->plot, append, reply);
    if (reply->length >= reply->room)
        return err_set(&reply->err, "the picture is longer than %zu bytes", reply->room);
    return true;
}
