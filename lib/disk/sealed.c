#include "disk/sealed.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "store/geometry.h"
#include "wire/ethernet.h"

bool sealed_begin(struct sealed_room *room)
{
    if (room->clear != NULL)
        return true;
    room->clear = aligned_alloc(64, BLOCK_BYTES_TARGET);
    if (room->clear == NULL)
        return false;
    body_cipher_init(&room->cipher, room->primitives);
    return true;
}

void sealed_end(struct sealed_room *room)
{
    if (room->clear == NULL)
        return;
    body_cipher_forget(&room->cipher);
    free(room->clear);
    room->clear = NULL;
}

void sealed_close_symbols(struct sealed_room *room, const struct disk_request *request, uint32_t first,
                          const uint8_t *text, size_t length)
{
    const struct disk_sealed *sealed = &request->sealed;
    uint32_t symbol_bytes = sealed->secret->symbol_bytes;
    uint8_t *out = request->data + (size_t)first * symbol_bytes;
    body_seal(&room->cipher, sealed->secret, sealed->symbol + first, text, length, out,
              sealed->tags + (size_t)first * SEAL_TAG_BYTES);
    body_cipher_forget(&room->cipher);
    for (size_t at = 0; at < length && sealed->sums != NULL; at += symbol_bytes)
        sealed->sums[first++] = checksum_of(out + at, MIN(length - at, (size_t)symbol_bytes));
}

bool sealed_open_symbols(struct sealed_room *room, const struct disk_request *request, uint32_t first,
                         uint8_t *text, size_t length)
{
    const struct disk_sealed *sealed = &request->sealed;
    uint32_t symbol_bytes = sealed->secret->symbol_bytes;
    bool opens = body_open(&room->cipher, sealed->secret, sealed->symbol + first,
                           request->data + (size_t)first * symbol_bytes, length, text,
                           sealed->tags + (size_t)first * SEAL_TAG_BYTES);
    body_cipher_forget(&room->cipher);
    return opens;
}

static void refuse(const struct disk_request *request, struct disk_reply *reply)
{
    *reply = (struct disk_reply){
        .op = request->op, .handle = request->handle, .cookie = request->cookie, .status = DISK_FAILED};
    place_say(reply->text, "out of memory for a block");
}

static void write_opened(struct sealed_room *room, struct file *file, const struct disk_request *request,
                         struct disk_reply *reply)
{
    struct disk_request opened = *request;
    if (!sealed_begin(room)) {
        refuse(request, reply);
        return;
    }
    opened.data = room->clear;
    bool opens = sealed_open_symbols(room, request, 0, room->clear, request->length);
    if (!opens)
        memset(room->clear, 0, request->length);
    file_serve(file, &opened, reply);
    if (!opens)
        memset(&reply->hash, 0, sizeof(reply->hash));
}

void sealed_serve(struct sealed_room *room, struct file *file, const struct disk_request *request,
                  struct disk_reply *reply)
{
    bool sealed = request->sealed.secret != NULL;
    if (sealed && request->op == DISK_WRITE) {
        write_opened(room, file, request, reply);
        return;
    }
    file_serve(file, request, reply);
    if (!sealed || request->op != DISK_READ || reply->status != DISK_OK)
        return;
    if (sealed_begin(room))
        sealed_close_symbols(room, request, 0, request->data, request->length);
    else
        refuse(request, reply);
}
