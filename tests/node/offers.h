/* A source by hand: n0 says to n1 what its own code would not, parts and their trees first of all. */
#pragma once

#include "check.h"
#include "node/peer/post.h"
#include "node/role/site.h"

/* Any bytes as a message of any kind; the peer gets it twice at least. */
static inline bool post_bytes(struct node *node, uint16_t peer, uint8_t kind, const uint8_t *body,
                              size_t length)
{
    if (!mail_push(&node->peers[peer].mail, kind, body, length))
        return false;
    mail_repeat_newest(&node->peers[peer].mail);
    peer_note_control(node, &node->peers[peer]);
    return true;
}

static inline void say(uint16_t from, uint16_t to, uint8_t kind, const uint8_t *body, size_t length)
{
    char name[NAME_BYTES];
    snprintf(name, sizeof(name), "n%u", to);
    struct node *node = world.nodes[from].node;
    assert_true(post_bytes(node, peer_find(node, name), kind, body, length));
    world_run_until(&world, world.now_ns + 100 * NS_PER_MS);
}

static inline struct offer good_offer(void)
{
    struct offer offer = {.part.fixed = {.job = 77,
                                         .epoch = 1,
                                         .size_bytes = 5000000,
                                         .symbol_bytes = 1408,
                                         .block_symbols = 744,
                                         .hash = PART_HASH_SHA256,
                                         .keep = 1,
                                         .stripes = 1},
                          .trees[0].fixed = {.weight = 1, .child_count = 1}};
    strcpy(offer.part.fixed.source.text, "n0");
    strcpy(offer.trees[0].fixed.parent.text, "n0");
    strcpy(offer.part.fixed.directory.text, "incoming");
    strcpy(offer.part.fixed.job_name.text, "bad");
    strcpy(offer.part.file, "file");
    strcpy(offer.trees[0].children[0].name.text, "n2");
    offer.trees[0].children[0].rate_bps = 1000000;
    return offer;
}

/* The real n0 knows nothing of the job, and would say so on hearing of it. */
static inline void say_part(const struct offer *offer)
{
    world.down_until_ns[1][0] = world.now_ns + 3 * NS_PER_S;
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = control_part_encode(body, &offer->part);
    assert_true(length > 0);
    say(0, 1, CONTROL_PART, body, length);
}

/* One of its trees, as the stripe of that number. */
static inline void say_tree(const struct offer *offer, uint8_t tree, uint8_t stripe)
{
    struct control_tree message = offer->trees[tree];
    message.fixed.job = offer->part.fixed.job;
    message.fixed.epoch = offer->part.fixed.epoch;
    message.fixed.stripe = stripe;
    uint8_t body[WIRE_MESSAGE_BODY_MAX];
    size_t length = control_tree_encode(body, &message);
    assert_true(length > 0);
    say(0, 1, CONTROL_TREE, body, length);
}

static inline void say_offer(const struct offer *offer)
{
    say_part(offer);
    for (uint8_t stripe = 0; stripe < offer->part.fixed.stripes; stripe++)
        say_tree(offer, stripe, stripe);
}

/* The newest answer to a part that n1 has put into its queue to n0. */
static inline struct control_confirm newest_confirm(void)
{
    const struct mail *mail = &world.nodes[1].node->peers[0].mail;
    struct control_confirm confirm = {.fixed = {.job = 0}};
    for (uint64_t number = mail->out_next; number-- > 0 && number + MAIL_QUEUE > mail->out_next;) {
        const struct mail_slot *slot = &mail->out[number & (MAIL_QUEUE - 1)];
        if (slot->kind != CONTROL_CONFIRM)
            continue;
        assert_int_equal(control_confirm_decode(slot->body, slot->length, &confirm), WIRE_OK);
        return confirm;
    }
    fail_msg("n1 has answered no part");
    return confirm;
}

static inline void assert_refused(uint32_t epoch, const char *text)
{
    struct control_confirm confirm = newest_confirm();
    assert_int_equal(confirm.fixed.answer, CONFIRM_REFUSED);
    assert_int_equal(confirm.fixed.epoch, epoch);
    if (strstr(confirm.text, text) == NULL)
        fail_msg("'%s' expected, got '%s'", text, confirm.text);
}
