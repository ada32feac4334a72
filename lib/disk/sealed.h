/* Blocks that lie sealed in memory (store/disk.h): a thread's way between them and their text.
 *
 * What is read is sealed where it lies, behind its hash. What is to be written is opened into a block of the thread's own,
 * since children may be sent from the sealed one meanwhile. One that does not open, as memory has failed, becomes zeros with a
 * hash of zeros, which is that of nothing: it will be asked for again. No key stays when a call returns. */
#pragma once

#include <stdbool.h>

#include "disk/file.h"
#include "seal/body.h"

/* A thread's. Zeroed; nothing is allocated before the first sealed block. */
struct sealed_room {
    const struct primitives *primitives; /* NULL: all is in the clear */
    struct body_cipher cipher;
    uint8_t *clear; /* BLOCK_BYTES_TARGET */
};

/* To be called before the next two. False: there is no memory. */
bool sealed_begin(struct sealed_room *room);
/* Frees what that has allocated. */
void sealed_end(struct sealed_room *room);
/* Symbols first … of the request's block, `length` bytes of text at `text`, to where the request wants them; sums too. */
void sealed_close_symbols(struct sealed_room *room, const struct disk_request *request, uint32_t first,
                          const uint8_t *text, size_t length);
/* The same back: from the request's block to `text`. False: some do not open. */
bool sealed_open_symbols(struct sealed_room *room, const struct disk_request *request, uint32_t first,
                         uint8_t *text, size_t length);
/* file_serve of a block that may be sealed. */
void sealed_serve(struct sealed_room *room, struct file *file, const struct disk_request *request,
                  struct disk_reply *reply);
