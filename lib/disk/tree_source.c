#include "disk/tree_source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

struct tree_source {
    int root_fd;
    struct walked walked;
};

/* One line about what the job's keys leave behind; none where nothing is. */
static void tell_lost(const struct walk_lost *lost, char text[DISK_TEXT_BYTES])
{
    const struct {
        const char *what, *key;
        uint32_t count;
    } kinds[] = {{"other owners", "owner", lost->owners},
                 {"set-id bits", "owner", lost->set_ids},
                 {"attributes", "xattrs", lost->xattrs},
                 {"hard links", "hardlinks", lost->links}};
    size_t at = 0;
    for (size_t kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
        if (kinds[kind].count != 0)
            at += (size_t)snprintf(text + at, DISK_TEXT_BYTES - at, "%s%s of %" PRIu32 " entries (%s)",
                                   at == 0 ? "not kept: " : ", ", kinds[kind].what, kinds[kind].count,
                                   kinds[kind].key);
}

struct tree_source *tree_source_open(int fd, const struct disk_open *open, const char *shown,
                                     struct disk_reply *reply)
{
    struct tree_source *tree = calloc(1, sizeof(*tree));
    if (tree == NULL || !walk_tree(&tree->walked, fd, open->tree, shown, reply->text)) {
        if (tree == NULL)
            place_say(reply->text, "open %s: out of memory", shown);
        free(tree);
        close(fd);
        return NULL;
    }
    tree->root_fd = fd;
    tell_lost(&tree->walked.lost, reply->text);
    reply->object = PART_OBJECT_DIRECTORY;
    reply->size_bytes = tree->walked.pack.object_bytes;
    reply->index_bytes = tree->walked.pack.index_bytes;
    reply->index_hash = tree->walked.hash;
    return tree;
}

enum disk_status tree_source_read(const struct tree_source *tree, const struct disk_request *request,
                                  char text[DISK_TEXT_BYTES])
{
    const struct pack *pack = &tree->walked.pack;
    uint64_t start = request->offset, end = start + request->length;
    uint64_t content = MIN(MAX(start, pack->index_bytes), end);
    if (end > pack->object_bytes) {
        place_say(text, "read: ends at byte %llu", (unsigned long long)pack->object_bytes);
        return DISK_FAILED;
    }
    if (start < content)
        memcpy(request->data, pack->bytes + start, content - start);
    if (content == end)
        return DISK_OK;
    return tree_read(pack, tree->root_fd, tree->walked.inodes, content, end,
                     request->data + (content - start), text);
}

void tree_source_close(struct tree_source *tree)
{
    close(tree->root_fd);
    free(tree->walked.bytes);
    free(tree->walked.inodes);
    free(tree);
}
