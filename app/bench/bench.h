/* What the parts of sluice-bench share; main.c only chooses among them. Each part prints one JSON object on
 * stdout and returns the exit status. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/report.h"
#include "ctl/job_spec.h"
#include "dpdk/eal.h"
#include "seal/primitives.h"
#include "wire/data.h"
#include "wire/ethernet.h"

/* What precedes a data packet's symbol: IPv4, UDP, header, tag; frames have ETHERNET_HEADER_BYTES more. */
#define BENCH_HEAD_BYTES (IPV4_BYTES + 8 + WIRE_DATA_BYTES + WIRE_TAG_BYTES)

struct bench_options {
    const char *part;
    const char *link; /* memif | vhost | ring */
    uint32_t mtu;
    bool sha256;
    const char *directory;   /* received files go there; NULL: memory sink */
    const char *source_file; /* NULL: the source has no disk */
    uint64_t object_bytes;
    uint64_t duration_ns;
    uint64_t rate_bps;
    uint32_t children;
    uint16_t lcores[2];
    uint8_t idle;
    uint32_t disk_threads;
    uint32_t stripes, jobs; /* relay: trees that the object travels down, jobs at once */
    uint32_t peers;         /* relay: of the relay, at least; some take no part … */
    uint64_t interval_ns;   /* … but for a small packet so often; 0: they are quiet */
    uint32_t workers;       /* relay: 2: its port has one of its own, on the other lcore */
    bool hugepages;         /* for everything */
    bool sealed;            /* relay: what sites send; pacer: what departs, beside handshakes */
    bool stages;            /* relay: ns of each stage of a turn */
    bool first_pass;        /* relay: of a large buffer, by itself */
    uint64_t capacity_bps;  /* probe: of the link between the two nodes … */
    uint64_t cross_bps;     /* … and of the traffic that crosses it */
    uint64_t delay_ns;      /* probe: of the link, each way */
    uint32_t runs;          /* probe: measurements, one after the other */
    const char *estimator;  /* probe: a name of estimator_kinds */
    bool durable;           /* all of it is on the disk before the receiver says that it has it */
};

int bench_goodput(const struct bench_options *options);
int bench_bare(const struct bench_options *options); /* alloc, send, receive, free over net_ring */
int bench_relay(const struct bench_options *options);
int bench_bare_relay(const struct bench_options *options); /* the floor under it */
int bench_pacer(const struct bench_options *options);
int bench_probe(
    const struct bench_options *options); /* available bandwidth of a modelled link, in real time */
/* What the appliance seals with here; ends the process with a message where there is none. */
const struct primitives *bench_primitives(void);
int bench_seal(const struct bench_options *options);  /* the primitives of lib/seal, by library */
int bench_cores(const struct bench_options *options); /* the distance of the two CPUs */
int bench_locks(const struct bench_options *options); /* counters that both of them write */

/* EAL on `count` of the options' CPUs; ends the process with a message when it fails. */
void bench_eal(const struct bench_options *options, const char *name, uint16_t count, uint64_t memory_bytes);
/* Ends the process with a message. */
void bench_fail(const char *what, const struct err *err) __attribute__((noreturn));
/* One object n0 → n1 (a star over all others, or through n1 when `relayed`), content not hashed unless asked. `number`
 * tells several jobs apart. */
struct job_spec bench_job(const struct bench_options *options, uint16_t sites, bool relayed, uint32_t number);

struct bench_print {
    struct report report;
    char text[16384];
};
void bench_print_begin(struct bench_print *print, const struct bench_options *options);
void bench_print_end(struct bench_print *print);
