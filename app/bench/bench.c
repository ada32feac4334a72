#include "app/bench/bench.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"

#include <rte_version.h>

static struct eal eal;

void bench_fail(const char *what, const struct err *err)
{
    fprintf(stderr, "sluice-bench: %s: %s\n", what, err->text);
    exit(1);
}

void bench_eal(const struct bench_options *options, const char *name, uint16_t count, uint64_t memory_bytes)
{
    struct err err;
    struct eal_options eal_options = {.program = name,
                                      .hugepages = options->hugepages,
                                      .memory_bytes = memory_bytes,
                                      .lcore_count = count,
                                      .lcores = {options->lcores[0]}};
    eal_options.lcores[1] = options->lcores[1];
    if (!eal_start(&eal, &eal_options, &err))
        bench_fail("start", &err);
}

struct job_spec bench_job(const struct bench_options *options, uint16_t sites, bool relayed, uint32_t number)
{
    struct job_spec spec = {
        .source = "n0",
        .to_all = true,
        .directory = "incoming",
        .metric = PLAN_METRIC_GIVEN,
        .trees = (uint8_t)options->stripes,
        .hash = options->sha256 ? PART_HASH_SHA256 : PART_HASH_NONE,
        .durable = options->durable ? PART_DURABLE_END : PART_DURABLE_NONE,
        .exists = PART_EXISTS_REPLACE,
        .congestion = PART_CONGESTION_FIXED,
        .measure_ns = 100 * NS_PER_MS,
    };
    snprintf(spec.name, sizeof(spec.name), "bench%u", number);
    snprintf(spec.target, sizeof(spec.target), "bench%u.out", number);
    snprintf(spec.file, sizeof(spec.file), "%s",
             options->source_file == NULL ? "/nowhere/bench" : options->source_file);
    for (uint16_t site = 1; site < sites; site++) {
        snprintf(spec.given[spec.given_count][0], NAME_BYTES, "n%u", relayed && site > 1 ? 1 : 0);
        snprintf(spec.given[spec.given_count++][1], NAME_BYTES, "n%u", site);
    }
    return spec;
}

void bench_print_begin(struct bench_print *print, const struct bench_options *options)
{
    report_begin(&print->report, REPORT_JSON, print->text, sizeof(print->text));
    report_text(&print->report, "part", options->part);
    report_text(&print->report, "dpdk", rte_version());
}

void bench_print_end(struct bench_print *print)
{
    CHECK(report_end(&print->report));
    puts(print->text);
    fflush(stdout);
}
