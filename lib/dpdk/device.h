/* Device strings as operators write them ("net_memif0,role=client,socket=@lab-7", "0000:3b:02.0") and what is
 * known about the kinds of device behind them. Pure text and numbers; DEVICES.md has the table of quirks. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define DEVICE_NAME_BYTES            64
#define DEVICE_ARGS_BYTES            512
#define DEVICE_DESCRIPTORS           1024 /* of a queue, unless the device's arguments say more */
#define DEVICE_AF_PACKET_FRAME_BYTES 2048 /* framesz, where none is given */

enum device_kind {
    DEVICE_NIC = 0, /* PCI and whatever is not below */
    DEVICE_MEMIF,
    DEVICE_RING,
    DEVICE_AF_PACKET,
    DEVICE_AF_XDP,
    DEVICE_TAP,
    DEVICE_VHOST,       /* the end that makes the socket, and copies frames in and out */
    DEVICE_VIRTIO_USER, /* the end that shares its packet memory with the other */
    DEVICE_OTHER_VDEV
};

/* What a device can read of bodies that lie outside packet buffers. */
enum device_reach {
    DEVICE_READS_ALL = 0, /* it is this process that reads */
    DEVICE_READS_EAL,     /* what the EAL has allocated, and nothing that was registered later */
    DEVICE_READS_MAPPED   /* what is mapped for DMA */
};

struct device {
    enum device_kind kind;
    char name[DEVICE_NAME_BYTES]; /* "net_memif0" */
    char args[DEVICE_ARGS_BYTES]; /* "role=client,…", completed */
    bool vdev;
    bool redials;        /* a memif client: starts over when its server went away */
    const char *listens; /* the argument that names the socket it makes and listens on; NULL: none */
    /* The data room its pool's buffers must have: af_packet's driver wants a whole frame of its ring to fit
     * one, however short the frames of the link are. */
    uint32_t buffer_bytes;
    uint16_t rx_descriptors, tx_descriptors;
};

/* Splits and completes, unless given: memif gets bsize (2 KiB, or the frame rounded up to 1 KiB: the same
 * on both ends of a link as long as their MTUs agree), rsize (10 to 500 Mbit/s, 11 to 1 Gbit/s, 12 above)
 * and socket-abstract=no where its socket is a path; af_packet framecnt for 20 ms of the rate (512 frames
 * to 32 MiB), and for frames beyond 2 KiB framesz (the next power of two) and blocksz; a NIC so many
 * receive descriptors (1024 to 4096, or as many as it has); virtio-user queue_size (1024, above 1 Gbit/s
 * 4096). False: malformed, a vhost device without iface or a virtio-user one without path, or a given bsize
 * or framesz that is too small, too large, or no fraction of blocksz. */
bool device_parse(struct device *device, const char *text, uint32_t frame_bytes_max, uint64_t rate_bps,
                  struct err *err);
/* The value of argument `key` ("iface") as a string; false: not given, or longer than `room`. */
bool device_argument(const struct device *device, const char *key, char *value, size_t room);
/* The same as a number; `otherwise`: it is not given. */
uint64_t device_argument_number(const struct device *device, const char *key, uint64_t otherwise);
/* What memif's bsize and the data room of every pool must be at least. */
uint32_t device_buffer_bytes(uint32_t frame_bytes_max);
/* The longest frame the device carries, from its own statement where that is true. */
uint32_t device_frame_bytes_max(enum device_kind kind, uint32_t stated);
/* mbufs that its queues may hold besides what the port itself uses. */
uint32_t device_mbufs(const struct device *device);
/* Per-burst costs make single departures expensive: packets this close leave together. */
uint64_t device_slack_ns(enum device_kind kind);
/* A frame has left when the call that hands it over returns: the kernel sends it inside the call. */
bool device_sends_at_once(enum device_kind kind);
/* Takes chains, where its driver says so, without copying or mishandling them. */
bool device_chains(enum device_kind kind);
enum device_reach device_reach(enum device_kind kind);
/* Checksums that its driver offers to compute cost this process nothing. */
bool device_checksums(enum device_kind kind);
