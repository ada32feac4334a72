/* What is in force of a file: a row for each key of its table, with what the file says, or else the default. Made of the
 * table, so that no key is missing. */
#pragma once

#include "conf/conf.h"
#include "conf/option.h"
#include "conf/reader.h"

/* From the document of the reader, in which there are no errors. */
void settings_take(struct conf_reader *reader, const struct conf_option *options,
                   struct conf_settings *settings);
