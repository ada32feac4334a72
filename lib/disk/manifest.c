#include "disk/manifest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "disk/identity.h"
#include "disk/part.h"

static bool write_text(struct place *place, int fd, const struct disk_request *request,
                       char text[DISK_TEXT_BYTES])
{
    uint32_t put = 0;
    while (put < request->length) {
        ssize_t part = write(fd, request->data + put, request->length - put);
        if (part < 0 && errno != EINTR)
            return place_write_fail(text, "write", place, PLACE_PART_SUFFIX,
                                    (struct place_need){.bytes = request->length});
        put += part < 0 ? 0 : (uint32_t)part;
    }
    if (request->open->durable != PART_DURABLE_NONE && fsync(fd) != 0)
        return place_write_fail(text, "fsync", place, PLACE_PART_SUFFIX, (struct place_need){0});
    return part_rename(place, fd, true, text);
}

/* The directory is the caller's word, so it is opened with his rights. */
static bool open_place(struct place *place, const struct disk_open *open_as, char text[DISK_TEXT_BYTES])
{
    int fd = identity_open(&open_as->rights, open_as->directory, O_RDONLY | O_DIRECTORY);
    if (fd < 0) {
        place_show(place->shown, open_as->directory);
        return identity_fail(text, &open_as->rights, place->shown);
    }
    bool good = place_open_in(place, fd, open_as->directory, open_as->file, text);
    close(fd);
    return good;
}

enum disk_status manifest_serve(const struct disk_request *request, struct disk_reply *reply)
{
    struct place place;
    if (!open_place(&place, request->open, reply->text))
        return DISK_FAILED;
    int fd = part_create(&place, 0644, reply->text);
    bool written = fd >= 0 && write_text(&place, fd, request, reply->text);
    if (fd >= 0 && !written)
        (void)part_remove(&place, fd); /* the first failure is what counts */
    if (fd >= 0)
        close(fd);
    if (written)
        place_say(reply->text, "%s", strlen(place.path) < sizeof(reply->text) ? place.path : place.shown);
    if (written)
        place_close(&place);
    else
        place_undo(&place);
    return written ? DISK_OK : DISK_FAILED;
}
