/* Progress of a job as text. Pure functions: numbers and widths in, lines out; who prints them, where and
 * when is follow.c's affair. Lines have no line end. */
#pragma once

#include <stddef.h>

#include "app/ctl/job_view.h"

#define PROGRESS_LINE 512

/* Rate of the last second or so: each step moves it towards the latest by the share of a second that the step
 * took, so the number is calm and follows a change within about a second. */
struct progress_rate {
    uint64_t bytes, at_ns;
    uint64_t bps; /* 0: not known yet */
};
void progress_rate_update(struct progress_rate *rate, uint64_t bytes, uint64_t now_ns);

/* "443.2 Mbit/s", "64.0 MiB", "0:07", "1:02:03". */
void progress_format_rate(uint64_t bps, char *text, size_t room);
void progress_format_size(uint64_t bytes, char *text, size_t room);
void progress_format_duration(uint64_t ns, char *text, size_t room);

/* Share done in whole percent; 100 only when complete, 0 bytes of 0 included. */
unsigned progress_percent(const struct site_view *site, uint64_t size_bytes);

/* What the job is doing: "demo: running, 64.0 MiB to 4 sites, plan 444.0 Mbit/s". */
void progress_job_line(const struct job_view *job, char *line, size_t room);
/* One bar: "frankfurt [#####.....]  50%  443.2 Mbit/s  ETA 0:07", exactly fitting `columns` where there is
 * room for a bar of 8 at least; narrower terminals get no bar, and never more than `columns` characters. */
void progress_bar_line(const struct site_view *site, uint64_t size_bytes, uint64_t rate_bps,
                       unsigned name_width, unsigned columns, char *line, size_t room);
/* The same without a bar, for logs: "demo: frankfurt 50% 443.2 Mbit/s ETA 0:07". */
void progress_plain_line(const struct job_view *job, const struct site_view *site, uint64_t rate_bps,
                         char *line, size_t room);
/* At the end: "frankfurt  verified  443.2 Mbit/s  1.210 s  /srv/incoming/demo.bin", and behind it, where it
 * is known, "(london > frankfurt: cap)": what limited it. */
void progress_result_line(const struct job_view *job, const struct site_view *site, unsigned name_width,
                          char *line, size_t room);
unsigned progress_name_width(const struct job_view *job);
