#include "picture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "probe/plot.h"

struct picture {
    struct plot_train train;
    struct plot plot;
    char *text;
    size_t length, room; /* length is beyond room once there was more than fits */
};

static void append(void *user, const char *piece)
{
    struct picture *picture = user;
    size_t bytes = strlen(piece);
    if (picture->length + bytes < picture->room)
        memcpy(picture->text + picture->length, piece, bytes + 1);
    picture->length += bytes;
}

bool picture_of_train(char *text, size_t bytes, size_t room)
{
    struct picture *picture = calloc(1, sizeof(*picture));
    if (picture == NULL || bytes > sizeof(picture->train)) {
        free(picture);
        snprintf(text, room, "there is no memory to draw a train");
        return false;
    }
    memcpy(&picture->train, text, bytes);
    picture->text = text;
    picture->room = room;
    plot_begin(&picture->plot, picture->train.capacity_bps);
    plot_read(&picture->plot, &picture->train.record);
    plot_svg(&picture->plot, append, picture);
    bool fits = picture->length < room;
    free(picture);
    if (!fits)
        snprintf(text, room, "the picture is longer than %zu bytes", room);
    return fits;
}
