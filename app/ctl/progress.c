#include "app/ctl/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

#define BAR_MIN    8
#define TAIL_ROOM  (VIEW_TEXT + 64)
#define TAIL_WIDTH 24u     /* "999.9 Mbit/s  ETA 0:00" and a little more */
#define ETA_MAX_S  8640000 /* 100 days: what is later is no forecast */

void progress_rate_update(struct progress_rate *rate, uint64_t bytes, uint64_t now_ns)
{
    uint64_t step_ns = elapsed_ns(now_ns, rate->at_ns);
    if (rate->at_ns == 0 || bytes < rate->bytes) {
        *rate = (struct progress_rate){.bytes = bytes, .at_ns = now_ns};
        return;
    }
    if (step_ns == 0)
        return;
    uint64_t latest_bps = muldiv64((bytes - rate->bytes) * 8, NS_PER_S, step_ns);
    uint64_t weight_ns = MIN(step_ns, NS_PER_S);
    if (rate->bps == 0)
        rate->bps = latest_bps;
    else
        rate->bps =
            muldiv64(rate->bps, NS_PER_S - weight_ns, NS_PER_S) + muldiv64(latest_bps, weight_ns, NS_PER_S);
    rate->bytes = bytes;
    rate->at_ns = now_ns;
}

void progress_format_rate(uint64_t bps, char *text, size_t room)
{
    static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
    unsigned unit = 0;
    uint64_t scale = 1;
    while (unit < 4 && bps / scale >= 1000) {
        scale *= 1000;
        unit++;
    }
    if (unit == 0)
        snprintf(text, room, "%" PRIu64 " bit/s", bps);
    else
        snprintf(text, room, "%" PRIu64 ".%" PRIu64 " %s", bps / scale, bps % scale * 10 / scale,
                 units[unit]);
}

void progress_format_size(uint64_t bytes, char *text, size_t room)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"};
    unsigned unit = 0;
    while (unit < 5 && bytes >> (10 * unit) >= 1024)
        unit++;
    uint64_t fraction = unit == 0 ? 0 : (bytes >> (10 * unit - 10)) % 1024 * 10 / 1024;
    if (unit == 0)
        snprintf(text, room, "%" PRIu64 " bytes", bytes);
    else
        snprintf(text, room, "%" PRIu64 ".%" PRIu64 " %s", bytes >> (10 * unit), fraction, units[unit]);
}

void progress_format_duration(uint64_t ns, char *text, size_t room)
{
    uint64_t seconds = ns / NS_PER_S + (ns % NS_PER_S != 0);
    if (seconds >= 3600)
        snprintf(text, room, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600, seconds / 60 % 60,
                 seconds % 60);
    else
        snprintf(text, room, "%" PRIu64 ":%02" PRIu64, seconds / 60, seconds % 60);
}

unsigned progress_percent(const struct site_view *site, uint64_t size_bytes)
{
    if (site_view_complete(site))
        return 100;
    if (size_bytes == 0)
        return 0;
    uint64_t received_bytes = MIN(site->received_bytes, size_bytes);
    uint64_t percent = muldiv64(received_bytes, 100, size_bytes);
    return percent > 99 ? 99 : (unsigned)percent;
}

static unsigned complete_sites(const struct job_view *job)
{
    unsigned count = 0;
    for (unsigned site = 0; site < job->site_count; site++)
        count += site_view_complete(&job->sites[site]);
    return count;
}

void progress_job_line(const struct job_view *job, char *line, size_t room)
{
    char size[32], rate[32];
    progress_format_size(job->size_bytes, size, sizeof(size));
    progress_format_rate(job->rate_bps, rate, sizeof(rate));
    int length = snprintf(line, room, "%s: %s", job->name, job->state);
    if (job->size_bytes > 0 && (size_t)length < room)
        length += snprintf(line + length, room - (size_t)length, ", %s", size);
    if (job->site_count > 0 && (size_t)length < room)
        length += snprintf(line + length, room - (size_t)length, ", %u of %u sites complete",
                           complete_sites(job), job->site_count);
    if (job->rate_bps > 0 && (size_t)length < room)
        snprintf(line + length, room - (size_t)length, ", plan %s", rate);
}

/* "stalled 12 s: canada does not answer" */
static void format_stall(const struct site_view *site, char *text, size_t room)
{
    bool why = site->text[0] != '\0';
    snprintf(text, room, "%s %" PRIu64 " s%s%s", site->state, (uint64_t)(site->stalled_ns / NS_PER_S),
             why ? ": " : "", site->text);
}

/* "443.2 Mbit/s  ETA 0:07" while it runs, else the state; `gap` between the two. */
static void format_tail(const struct site_view *site, uint64_t size_bytes, uint64_t rate_bps, const char *gap,
                        char *text, size_t room)
{
    char rate[32], eta[32];
    uint64_t left_bytes = size_bytes - MIN(site->received_bytes, size_bytes);
    if (site->stalled_ns > 0) {
        format_stall(site, text, room);
        return;
    }
    if (!site_view_is(site, SITE_RECEIVING)) {
        snprintf(text, room, "%s", site->state);
        return;
    }
    progress_format_rate(rate_bps, rate, sizeof(rate));
    if (left_bytes == 0)
        snprintf(text, room, "%s%sverifying", rate, gap);
    else if (rate_bps == 0 || left_bytes * 8 / rate_bps > ETA_MAX_S)
        snprintf(text, room, "%s%sETA -", rate, gap);
    else {
        progress_format_duration(muldiv64(left_bytes * 8, NS_PER_S, rate_bps), eta, sizeof(eta));
        snprintf(text, room, "%s%sETA %s", rate, gap, eta);
    }
}

void progress_bar_line(const struct site_view *site, uint64_t size_bytes, uint64_t rate_bps,
                       unsigned name_width, unsigned columns, char *line, size_t room)
{
    char tail[TAIL_ROOM], bar[PROGRESS_LINE] = "";
    unsigned percent = progress_percent(site, size_bytes);
    format_tail(site, size_bytes, rate_bps, "  ", tail, sizeof(tail));
    unsigned tail_width = MAX(TAIL_WIDTH, (unsigned)strlen(tail));
    unsigned fixed = name_width + 2 + 2 + 4 + 2 + tail_width;
    if (columns >= fixed + BAR_MIN) {
        unsigned width = MIN(columns - fixed, (unsigned)sizeof(bar) - 4);
        unsigned filled = width * percent / 100;
        bar[0] = '[';
        memset(bar + 1, '#', filled);
        memset(bar + 1 + filled, '.', width - filled);
        memcpy(bar + 1 + width, "] ", 3);
    }
    int length = snprintf(line, room, "%-*s %s%3u%%  %-*s", (int)name_width, site->name, bar, percent,
                          (int)tail_width, tail);
    if (length > 0 && (unsigned)length > columns && columns < room)
        line[columns] = '\0';
}

void progress_plain_line(const struct job_view *job, const struct site_view *site, uint64_t rate_bps,
                         char *line, size_t room)
{
    char tail[TAIL_ROOM];
    format_tail(site, job->size_bytes, rate_bps, " ", tail, sizeof(tail));
    int length = snprintf(line, room, "%s: %s %u%% %s", job->name, site->name,
                          progress_percent(site, job->size_bytes), tail);
    bool ended = !site_view_going(site) && !site_view_complete(site);
    if (ended && site->text[0] != '\0' && length > 0 && (size_t)length < room)
        snprintf(line + length, room - (size_t)length, ": %s", site->text);
}

void progress_result_line(const struct job_view *job, const struct site_view *site, unsigned name_width,
                          char *line, size_t room)
{
    char rate[32] = "-", duration[32] = "-";
    uint64_t took_ns = job->running_ns == 0 ? 0 : elapsed_ns(site->complete_ns, job->running_ns);
    if (site_view_is(site, SITE_VERIFIED) && took_ns > 0) {
        progress_format_rate(muldiv64(job->size_bytes * 8, NS_PER_S, took_ns), rate, sizeof(rate));
        snprintf(duration, sizeof(duration), "%" PRIu64 ".%03" PRIu64 " s", (uint64_t)(took_ns / NS_PER_S),
                 (uint64_t)(took_ns % NS_PER_S / NS_PER_MS));
    }
    int length = snprintf(line, room, "%-*s  %-11s  %12s  %10s  %s", (int)name_width, site->name, site->state,
                          rate, duration, site->text);
    if (length > 0 && (size_t)length < room && site->limited_from[0] != '\0')
        snprintf(line + length, room - (size_t)length, "  (%s > %s: %s)", site->limited_from,
                 site->limited_to, site->limited_by);
}

unsigned progress_name_width(const struct job_view *job)
{
    size_t width = 4;
    for (unsigned site = 0; site < job->site_count; site++)
        width = MAX(width, strlen(job->sites[site].name));
    return (unsigned)width;
}
