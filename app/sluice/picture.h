/* A train that the node has handed out, drawn. Control threads: it takes milliseconds, which a worker does not have. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The bytes at `text` are those of a struct plot_train (probe/plot.h); the picture takes their place, zero terminated. False:
 * there is no memory, or no room for it; text says so. */
bool picture_of_train(char *text, size_t bytes, size_t room);
