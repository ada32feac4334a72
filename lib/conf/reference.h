/* The tables of the four kinds of file, whole. */
#pragma once

#include "conf/option.h"

extern const struct conf_option node_file_options[];
extern const struct conf_option job_file_options[];
extern const struct conf_option scenario_file_options[];
extern const struct conf_option net_file_options[];
