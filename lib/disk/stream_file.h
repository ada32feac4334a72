/* One end of a stream at a node, between OPEN and CLOSE: what FEED and DRAIN (store/disk.h) go on from.
 *
 *   input   A FIFO is opened before its writer has come, a socket is connected to (who feeds it listens);
 *           its end, when the last writer has closed, is the end of the stream. A regular file ends where
 *           it ends. Fed: a socket whose feeder tells the end by closing his half of it (shutdown) and
 *           stays until it is taken; one that goes away, however, has told no end, and that is an error.
 *   output  NAME in the permitted directory: a FIFO that is there is written to as soon as somebody reads
 *           it, a socket as soon as somebody listens; where nothing is, NAME.part is written and becomes
 *           NAME at the verified end. A permitted "directory" that is itself a FIFO, socket or device
 *           (/dev/stdout) is the sink, whatever the job calls its object. A reader that goes away is an
 *           error.
 *
 * A request that cannot be answered yet stays here; stream_file_wants says what it waits for.
 * Thread: the handle's own, of stream_thread.c. */
#pragma once

#include <poll.h>
#include <stdint.h>

#include "disk/part.h"
#include "disk/sealed.h"

#define STREAM_RETRY_NS (20 * NS_PER_MS) /* how often somebody who reads is looked for */

enum stream_kind {
    STREAM_CLOSED = 0,
    STREAM_INPUT,
    STREAM_MEMORY,   /* hashes and discards */
    STREAM_OUTPUT,   /* FIFO, socket, device */
    STREAM_PART,     /* NAME.part of a recording */
    STREAM_FINISHED, /* nothing more will come */
};

struct stream_file {
    uint8_t kind;                  /* enum stream_kind */
    uint8_t exists, durable, hash; /* of the struct disk_open */
    bool waiting;                  /* `request`, a FEED or DRAIN, is not answered yet */
    bool placed;                   /* `place` is open */
    bool fed;                      /* of the struct disk_open */
    int fd;                        /* -1: nobody reads yet */
    struct place place;            /* a source and a sink without a directory have only path and shown */
    struct disk_request request;
    uint32_t symbols;  /* of the request: full (FEED), or written (DRAIN) … */
    uint32_t bytes;    /* … and so much of the next one */
    uint64_t payload;  /* of the request, so far */
    uint64_t flush_ns; /* input */
    uint64_t since_ns; /* input: when the first of `bytes` came */
    uint64_t retry_ns; /* output: when to look for a reader again */
    uint8_t *carry;    /* input: bytes that came behind the last full symbol of the request before … */
    uint32_t carried;
    struct wire_hash chain;
    struct sealed_room sealed; /* the text of a block that lies sealed in memory; stays with the thread */
};

/* What an unanswered request waits for: the descriptor (fd -1: none) and the time (UINT64_MAX: none). */
void stream_file_wants(const struct stream_file *file, struct pollfd *wanted, uint64_t *due_ns);
/* The request that waits is answered as failed. */
void stream_file_interrupt(struct stream_file *file, struct disk_reply *reply);
/* Closes what is open; an unfinished recording goes. */
void stream_file_close(struct stream_file *file);

/* Symbol `at` of the request, in the clear. */
uint8_t *stream_symbol(const struct stream_file *file, uint32_t at);
/* All of it but what stays with the thread. */
void stream_file_clear(struct stream_file *file);
/* Where the request's block lies sealed in memory: DRAIN's symbols are opened, FEED's get a place to be filled in. False:
 * there is no memory, or it has failed. */
bool stream_open_symbols(struct stream_file *file);
/* … and the symbols that a FEED has filled are sealed. */
void stream_close_symbols(struct stream_file *file);
/* The block that the request belongs to is whole: its hash and the chain. */
void stream_end_block(struct stream_file *file, uint32_t symbols, struct disk_reply *reply);
/* Connects a new socket, without waiting. -1: errno. */
int stream_connect(const char *path);
