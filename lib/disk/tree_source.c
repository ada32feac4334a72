#include "disk/tree_source.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/units.h"

struct tree_source {
    int root_fd;
    struct walked walked;
};

/* The keys of a job that would keep it. */
static const char *const keys[LOST_KIND_COUNT] = {"owner", "owner", "xattrs", "hardlinks"};

struct tree_source *tree_source_open(int fd, const struct disk_open *open, const char *shown,
                                     struct disk_reply *reply)
{
    struct tree_source *tree = calloc(1, sizeof(*tree));
    bool (*walk)(struct walked *, int, uint8_t, const char *, char[DISK_TEXT_BYTES]) =
        open->rights.kind == RIGHTS_CALLER ? walk_tree_of_caller : walk_tree;
    if (tree == NULL || !walk(&tree->walked, fd, open->tree, shown, reply->text)) {
        if (tree == NULL)
            place_say(reply->text, "open %s: out of memory", shown);
        free(tree);
        close(fd);
        return NULL;
    }
    tree->root_fd = fd;
    lost_tell(&tree->walked.lost, keys, reply->text);
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
    return tree_read(pack, tree->root_fd, tree->walked.seen, content, end, request->data + (content - start),
                     text);
}

void tree_source_close(struct tree_source *tree)
{
    close(tree->root_fd);
    free(tree->walked.bytes);
    free(tree->walked.seen);
    free(tree);
}
