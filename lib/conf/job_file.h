/* The rows that job files and the jobs of a scenario have in common, and the checks of what they say. */
#pragma once

#include "conf/reader.h"
#include "ctl/job_spec.h"

/* Fill a struct job_spec: everything but the file that is sent. */
extern const struct conf_option job_options[];
/* Fill a struct job_controls. */
extern const struct conf_option job_control_options[];
/* Contradictions within one job at key path `where` ("" or "jobs[0]."); brings a given tree into the order
 * parents before children. */
void conf_check_job(struct conf_reader *reader, const char *where, struct job_spec *spec);
