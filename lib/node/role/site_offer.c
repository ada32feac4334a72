/* Parts as sources tell them: what is told is kept here until the last tree has come. */
#include "node/peer/post.h"
#include "node/role/rights.h"
#include "node/role/unlisted.h"
#include "seal/wipe.h"

void site_end_offer(struct node *node, uint16_t peer)
{
    struct offer *offer = &node->offers[peer];
    offer->open = false;
    wipe(&offer->part.fixed.secret, sizeof(offer->part.fixed.secret));
}

static void refuse(struct node *node, uint16_t peer, const char *text)
{
    const struct wire_part *part = &node->offers[peer].part.fixed;
    site_end_offer(node, peer);
    site_post_confirm(node, peer, part->job, part->epoch, CONFIRM_REFUSED, text);
}

/* Before anything is taken for it: what the source may not is found out by two lookups of names. */
static bool is_permitted(struct node *node, uint16_t peer, const struct control_part *part, uint64_t now_ns)
{
    struct err err;
    if (!unlisted_may_tell(node, peer, now_ns))
        return false;
    if (rights_to_part(node, peer, part, &err))
        return true;
    if (post_has_ample_room(node, peer))
        site_post_confirm(node, peer, part->fixed.job, part->fixed.epoch, CONFIRM_REFUSED, err.text);
    return false;
}

bool site_on_part(struct node *node, uint16_t peer, const struct control_part *part, uint64_t now_ns)
{
    struct offer *offer = &node->offers[peer];
    if (offer->open)
        refuse(node, peer, "another part came before the trees of this one");
    offer->refused = !is_permitted(node, peer, part, now_ns);
    offer->open = !offer->refused;
    offer->told = 0;
    offer->part = *part;
    if (offer->refused)
        site_end_offer(node, peer);
    return !offer->refused;
}

bool site_on_tree(struct node *node, uint16_t peer, const struct control_tree *tree, uint64_t now_ns)
{
    struct offer *offer = &node->offers[peer];
    const struct wire_part *part = &offer->part.fixed;
    uint32_t stripe = tree->fixed.stripe;
    if (offer->refused && part->job == tree->fixed.job && part->epoch == tree->fixed.epoch)
        return true;
    if (!offer->open || part->job != tree->fixed.job || part->epoch != tree->fixed.epoch)
        return false;
    if (stripe >= part->stripes || (offer->told >> stripe & 1) != 0) {
        refuse(node, peer,
               stripe >= part->stripes ? "more trees than it has stripes" : "a tree is there twice");
        return true;
    }
    offer->trees[stripe] = *tree;
    offer->told |= (uint8_t)(1u << stripe);
    if (offer->told == (1u << part->stripes) - 1) {
        offer->open = false;
        site_take_offer(node, peer, offer, now_ns);
        site_end_offer(node, peer);
    }
    return true;
}

void site_on_offer_closed(struct node *node, uint16_t peer, uint32_t job)
{
    if (node->offers[peer].part.fixed.job == job)
        site_end_offer(node, peer);
}
