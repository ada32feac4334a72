/* An operator-facing error: one line of text that gathers context on its way up. Names of files and
 * words of others are quoted in it, so what may steer a terminal becomes '?' (text.h). Cold path only. */
#pragma once

#include <stdbool.h>

#define ERR_TEXT_BYTES 256

struct err {
    char text[ERR_TEXT_BYTES];
};

/* Writes the text; always returns false, so that `return err_set(err, …)` fails a bool function. */
bool err_set(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts "context: " before the text that is there. Returns false. */
bool err_context(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));
