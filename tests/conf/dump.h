/* Prints what was read, every field that a file can set: golden files are made of it. */
#pragma once

#include <stdio.h>

#include "conf/conf.h"

void dump_node(FILE *out, const struct app_config *config);
void dump_job(FILE *out, const struct job_spec *spec);
void dump_scenario(FILE *out, const struct scenario *scenario);
void dump_net(FILE *out, const struct plan_request *request);
