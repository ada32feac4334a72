#include "node/role/rights.h"

#include <string.h>

#include "base/bytes.h"
#include "node/peer/measure.h"
#include "node/role/site.h"
#include "node/role/source.h"
#include "node/train/pairs.h"

#define ROW(kind, rights) [kind] = (rights),
static const uint8_t message_rights[CONTROL_KIND_COUNT] = {MESSAGE_RIGHTS(ROW)};
#undef ROW

unsigned rights_in_job(struct job *job, uint16_t peer)
{
    unsigned rights = job->children.of_peer[peer] != CHILD_NONE ? RIGHT_CHILD : 0;
    if (job->source != NULL)
        return rights | (source_site(job, peer) != NULL ? RIGHT_SITE : 0u);
    rights |= job->source_peer == peer ? RIGHT_SOURCE : 0u;
    return rights | (trees_fed_by(job, peer) != 0 ? RIGHT_PARENT : 0u);
}

/* The job of that id in which the peer has one of these rights; one that is over where there is no other. */
static struct job *job_by_right(struct node *node, uint16_t peer, uint32_t id, unsigned rights)
{
    struct job *found = NULL;
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *job = &node->jobs[slot];
        if (job_is_known(job) && job->id == id && (rights_in_job(job, peer) & rights) != 0 &&
            (found == NULL || phase_ends(found->phase)))
            found = job;
    }
    return found;
}

bool rights_check(struct node *node, uint16_t peer, uint8_t kind, const uint8_t *body, size_t length,
                  struct job **job)
{
    unsigned rights = kind < CONTROL_KIND_COUNT ? message_rights[kind] : 0;
    *job = NULL;
    if ((rights & RIGHT_ASKER) != 0)
        return rights_may_measure(node, peer);
    if ((rights & RIGHT_ASKED) != 0)
        return measure_was_asked(node, peer) || (kind == CONTROL_AVAILABLE && pairs_waits_for(node, peer));
    /* What is no message, or too short, its decoder refuses. */
    if (rights == 0 || (rights & RIGHT_PEER) != 0 || length < sizeof(uint32_t))
        return true;
    uint32_t id = load_be32(body);
    *job = job_by_right(node, peer, id, rights);
    const struct offer *offer = &node->offers[peer];
    bool telling = (rights & RIGHT_SOURCE) != 0 && offer->open && offer->part.fixed.job == id;
    return *job != NULL || telling || job_find(node, id) == NULL;
}

static bool is_among(const char (*names)[NAME_BYTES], uint16_t count, const char *name)
{
    for (uint16_t index = 0; index < count; index++)
        if (strcmp(names[index], name) == 0)
            return true;
    return false;
}

bool rights_may_relay(const struct node *node, uint16_t peer)
{
    const struct node_config *config = &node->config;
    return !config->relay_for_some ||
           is_among(config->relay_for, config->relay_for_count, config->peers[peer].name);
}

static bool lists(const struct node_directory *directory, const char *source)
{
    return directory->any_source || is_among(directory->sources, directory->source_count, source);
}

bool rights_listed(const struct node *node, uint16_t peer)
{
    const struct node_config *config = &node->config;
    for (uint16_t index = 0; index < config->directory_count; index++)
        if (lists(&config->directories[index], config->peers[peer].name))
            return true;
    return config->relay_for_some && rights_may_relay(node, peer);
}

bool rights_may_measure(const struct node *node, uint16_t peer)
{
    return rights_may_relay(node, peer) || rights_listed(node, peer);
}

const struct node_directory *rights_directory(const struct node *node, const struct control_part *part,
                                              struct err *err)
{
    for (uint16_t index = 0; index < node->config.directory_count; index++) {
        const struct node_directory *directory = &node->config.directories[index];
        if (strcmp(directory->name, part->fixed.directory.text) != 0)
            continue;
        if (lists(directory, part->fixed.source.text))
            return directory;
        err_set(err, "source %s may not write into directory '%s'", part->fixed.source.text, directory->name);
        return NULL;
    }
    err_set(err, "there is no directory '%s' for jobs", part->fixed.directory.text);
    return NULL;
}

bool rights_to_part(const struct node *node, uint16_t peer, const struct control_part *part, struct err *err)
{
    bool kept = part->fixed.keep != 0;
    if (kept && node->config.store != NODE_STORE_NONE)
        return rights_directory(node, part, err) != NULL;
    if (!kept && node->config.leaf)
        return err_set(err, "%s relays nothing (plan: relay: no in its node file)", node->config.name);
    return rights_may_relay(node, peer) ||
           err_set(err, "%s does not relay for source %s (plan: relay_for in its node file)",
                   node->config.name, peer_name(node, peer));
}

bool rights_apart(struct node *node, struct job *job, struct err *err)
{
    for (uint32_t slot = 0; slot < NODE_JOBS_MAX; slot++) {
        struct job *other = &node->jobs[slot];
        if (other == job || !job_is_known(other) || phase_ends(other->phase) || other->id != job->id)
            continue;
        for (uint16_t peer = 0; peer < node->peer_count; peer++)
            if (rights_in_job(job, peer) != 0 && rights_in_job(other, peer) != 0)
                return err_set(err, "job id is in use by a job of %s, with which %s has to do as well",
                               peer_name(node, other->source_peer), peer_name(node, peer));
    }
    return true;
}
