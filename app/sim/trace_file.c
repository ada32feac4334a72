#include "app/sim/trace_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "sim/cross.h"

/* Times in seconds and milliseconds, without rounding. */
static void print_fixed(FILE *out, uint64_t value, uint64_t unit, int digits)
{
    fprintf(out, "%" PRIu64 ".%0*" PRIu64 ",", value / unit, digits, value % unit);
}

static void print_row(void *context, const struct trace_row *row)
{
    const struct trace_file *file = context;
    const struct scenario *scenario = file->scenario;
    print_fixed(file->out, row->time_ns, NS_PER_S, 9);
    if (!row->is_edge)
        fprintf(file->out, "flow.%u %s ", row->flow, cross_kind_name(row->kind));
    fprintf(file->out, "%s>%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", scenario->nodes[row->from].name,
            scenario->nodes[row->to].name, row->rate_bps, row->sent_bps, row->delivered_bps);
    print_fixed(file->out, row->queue_ns, NS_PER_MS, 6);
    print_fixed(file->out, row->rtt_ns, NS_PER_MS, 6);
    fprintf(file->out, "%" PRIu64 ",%" PRIu64 "\n", row->lost, row->dropped);
}

bool trace_file_open(struct trace_file *file, const char *path, const struct scenario *scenario,
                     struct trace_sink *sink)
{
    *file = (struct trace_file){.path = path, .scenario = scenario};
    *sink = (struct trace_sink){0};
    if (path == NULL)
        return true;
    file->out = fopen(path, "w");
    if (file->out == NULL) {
        fprintf(stderr, "sluice-sim: %s: %s\n", path, strerror(errno));
        return false;
    }
    fputs("time_s,edge,rate_bps,sent_bps,delivered_bps,queue_ms,rtt_ms,lost,dropped\n", file->out);
    *sink = (struct trace_sink){.row = print_row, .context = file};
    return true;
}

bool trace_file_close(struct trace_file *file)
{
    if (file->out == NULL)
        return true;
    bool good = ferror(file->out) == 0;
    good &= fclose(file->out) == 0;
    if (!good)
        fprintf(stderr, "sluice-sim: %s could not be written\n", file->path);
    return good;
}
