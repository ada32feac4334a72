/* One job's file: what each disk request does to it. Blocking calls; made by the disk threads only. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "disk/budget.h"
#include "disk/part.h"

enum file_kind {
    FILE_CLOSED = 0,
    FILE_SOURCE,
    FILE_MEMORY,   /* hashes and discards */
    FILE_PART,     /* NAME.part, being written */
    FILE_FINISHED, /* NAME, by rename or because it was there already */
    FILE_ABORTED,
    FILE_TREE_SOURCE, /* a directory, read as one packed object */
    FILE_TREE         /* a directory, being unpacked or finished */
};

/* What all files of a disk share. */
struct file_common {
    bool sparse; /* no space is asked for beforehand, nor reserved */
    struct budget index_memory;
};

struct tree_source;
struct tree_sink;

struct file {
    uint8_t kind;                  /* enum file_kind */
    uint8_t exists, durable, hash; /* of the struct disk_open */
    struct file_common *common;
    int fd;
    struct tree_source *source; /* FILE_TREE_SOURCE */
    struct tree_sink *sink;     /* FILE_TREE */
    struct place place;         /* target; a source has only `shown` */
    uint64_t device;            /* st_dev of the filesystem that it lies on; 0: on none */
    uint64_t size_bytes;
    uint64_t modified_ns;
    uint64_t changed;     /* source: its ctime, which nobody can put back */
    uint16_t mode;        /* target: when it is whole */
    atomic_bool unsynced; /* an fsync has failed: nothing tells any more what is on the disk */
};

/* Fills the reply's status, hash, size, time and text, for any request. */
void file_serve(struct file *file, const struct disk_request *request, struct disk_reply *reply);
/* Closes the descriptors; removes nothing. */
void file_close(struct file *file);
