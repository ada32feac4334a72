#include "dpdk/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "dpdk/compat.h"

#define AF_PACKET_RESERVE        96          /* its frame header and alignment inside framesz */
#define AF_PACKET_BLOCK_BYTES    65536       /* blocksz, where frames are longer than that */
#define AF_PACKET_FRAMES_MIN     512u        /* framecnt, where none is given: of its driver */
#define AF_PACKET_RING_BYTES_MAX (32u << 20) /* of two, which the kernel locks */
#define NIC_DESCRIPTORS_MAX      4096
#define RING_NS                  (20 * NS_PER_MS) /* of the port's rate, that it holds */
#define WIRE_OVERHEAD            24
#define BUFFER_BYTES_MAX         65024 /* a pool's data room has 16 bits, headroom included */
#define VIRTIO_PLACES_MAX        32768
#define VIRTIO_PLACES            4096 /* queue_size above 1 Gbit/s, 1024 else; a frame of two parts takes three */

static const struct {
    const char *prefix;
    enum device_kind kind;
} device_prefixes[] = {
    {"net_memif", DEVICE_MEMIF},
    {"net_ring", DEVICE_RING},
    {"net_af_packet", DEVICE_AF_PACKET},
    {"net_af_xdp", DEVICE_AF_XDP},
    {"net_tap", DEVICE_TAP},
    {"net_vhost", DEVICE_VHOST},
    {"net_virtio_user", DEVICE_VIRTIO_USER},
    {"virtio_user", DEVICE_VIRTIO_USER},
    {"net_", DEVICE_OTHER_VDEV},
    {"eth_", DEVICE_OTHER_VDEV},
    {"virtio_", DEVICE_OTHER_VDEV},
};

uint32_t device_buffer_bytes(uint32_t frame_bytes_max)
{
    return MAX(2048u, (frame_bytes_max + 1023) / 1024 * 1024);
}

uint32_t device_frame_bytes_max(enum device_kind kind, uint32_t stated)
{
    switch (kind) {
    case DEVICE_MEMIF:     /* states 1518, carries bsize */
    case DEVICE_AF_PACKET: /* states 1518, carries framesz */
        return 65535;
    case DEVICE_TAP:
        return COMPAT_TAP_FRAME_BYTES_MAX;
    case DEVICE_NIC:
    case DEVICE_RING:
    case DEVICE_AF_XDP:
    case DEVICE_VHOST:
    case DEVICE_VIRTIO_USER:
    case DEVICE_OTHER_VDEV:
        return stated;
    }
    CHECK(false);
}

uint32_t device_mbufs(const struct device *device)
{
    switch (device->kind) {
    case DEVICE_MEMIF:
    case DEVICE_AF_PACKET:
    case DEVICE_TAP:
    case DEVICE_VHOST:
        return 0; /* frames are copied in and out */
    case DEVICE_AF_XDP:
        return 32768;
    case DEVICE_RING:
    case DEVICE_NIC:
    case DEVICE_OTHER_VDEV:
        return 3072 + device->rx_descriptors;
    case DEVICE_VIRTIO_USER:
        return DEVICE_DESCRIPTORS + device->tx_descriptors;
    }
    CHECK(false);
}

uint64_t device_slack_ns(enum device_kind kind)
{
    return kind == DEVICE_AF_PACKET || kind == DEVICE_TAP || kind == DEVICE_AF_XDP ? 10 * NS_PER_US : 0;
}

bool device_sends_at_once(enum device_kind kind)
{
    return kind == DEVICE_AF_PACKET || kind == DEVICE_TAP;
}

bool device_chains(enum device_kind kind)
{
    return kind != DEVICE_MEMIF && kind != DEVICE_AF_XDP;
}

enum device_reach device_reach(enum device_kind kind)
{
    switch (kind) {
    case DEVICE_MEMIF:
    case DEVICE_RING:
    case DEVICE_AF_PACKET:
    case DEVICE_AF_XDP:
    case DEVICE_TAP:
    case DEVICE_VHOST:
        return DEVICE_READS_ALL;
    case DEVICE_VIRTIO_USER:
        return DEVICE_READS_EAL;
    case DEVICE_NIC:
    case DEVICE_OTHER_VDEV: /* bonding and its like have NICs below */
        return DEVICE_READS_MAPPED;
    }
    CHECK(false);
}

bool device_checksums(enum device_kind kind)
{
    return kind != DEVICE_TAP; /* its driver computes them, over a copy */
}

/* The value of `key` in "a=1,b=2"; NULL: not there. */
static const char *argument_find(const char *args, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = args; at != NULL && *at != '\0'; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, key, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

bool device_argument(const struct device *device, const char *key, char *value, size_t room)
{
    const char *found = argument_find(device->args, key);
    size_t length = found != NULL ? strcspn(found, ",") : room;
    if (length >= room)
        return false;
    memcpy(value, found, length);
    value[length] = '\0';
    return true;
}

static bool argument_set(struct device *device, const char *key, const char *value, struct err *err)
{
    size_t length = strlen(device->args);
    size_t room = sizeof(device->args) - length;
    int wrote = snprintf(device->args + length, room, "%s%s=%s", length > 0 ? "," : "", key, value);
    if (wrote < 0 || (size_t)wrote >= room)
        return err_set(err, "device %s: its arguments are too long", device->name);
    return true;
}

static bool argument_add(struct device *device, const char *key, uint64_t value, struct err *err)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
    return argument_set(device, key, text, err);
}

/* Adds the argument, or checks that the one given is large enough. */
static bool argument_at_least(struct device *device, const char *key, uint64_t value, struct err *err)
{
    const char *given = argument_find(device->args, key);
    if (given == NULL)
        return argument_add(device, key, value, err);
    if (strtoull(given, NULL, 0) < value)
        return err_set(err, "device %s: %s=%llu is too small for this MTU, at least %llu expected",
                       device->name, key, strtoull(given, NULL, 0), (unsigned long long)value);
    return true;
}

static bool memif_complete(struct device *device, uint32_t frame_bytes_max, uint64_t rate_bps,
                           struct err *err)
{
    const char *role = argument_find(device->args, "role");
    device->redials = role == NULL || (strncmp(role, "server", 6) != 0 && strncmp(role, "master", 6) != 0);
    /* The driver would take a path for an abstract name, which any user may connect to. */
    const char *socket = argument_find(device->args, "socket");
    if (socket != NULL && socket[0] == '/' && argument_find(device->args, "socket-abstract") == NULL &&
        !argument_set(device, "socket-abstract", "no", err))
        return false;
    if (!argument_at_least(device, "bsize", device_buffer_bytes(frame_bytes_max), err))
        return false;
    if (argument_find(device->args, "rsize") != NULL)
        return true;
    unsigned ring_log2 = rate_bps <= 500000000ULL ? 10 : rate_bps <= 1000000000ULL ? 11 : 12;
    return argument_add(device, "rsize", ring_log2, err);
}

uint64_t device_argument_number(const struct device *device, const char *key, uint64_t otherwise)
{
    const char *given = argument_find(device->args, key);
    return given != NULL ? strtoull(given, NULL, 0) : otherwise;
}

/* Frames of the port's longest kind that come in RING_NS: so long a host may stand still. A power of two. */
static uint32_t ring_frames(uint64_t rate_bps, uint32_t frame_bytes_max, uint32_t least, uint32_t most)
{
    uint64_t needed = bytes_within(rate_bps, RING_NS) / (frame_bytes_max + WIRE_OVERHEAD);
    uint32_t frames = least;
    while (frames < needed && frames < most)
        frames *= 2;
    return frames;
}

/* The driver finds frame number N of its ring at N * framesz: right only where a block holds a whole number
 * of frames. */
static bool af_packet_complete(struct device *device, uint32_t frame_bytes_max, uint64_t rate_bps,
                               struct err *err)
{
    uint64_t needed = frame_bytes_max + AF_PACKET_RESERVE, frame = DEVICE_AF_PACKET_FRAME_BYTES;
    while (frame < needed)
        frame *= 2;
    frame = device_argument_number(device, "framesz", frame);
    if (frame < needed)
        return err_set(err, "device %s: framesz=%llu is too small for this MTU, at least %llu expected",
                       device->name, (unsigned long long)frame, (unsigned long long)needed);
    if (frame > BUFFER_BYTES_MAX)
        return err_set(err, "device %s: framesz=%llu is too large, at most %u expected", device->name,
                       (unsigned long long)frame, BUFFER_BYTES_MAX);
    device->buffer_bytes = MAX(device->buffer_bytes, (uint32_t)frame);
    uint32_t most = MAX(AF_PACKET_RING_BYTES_MAX / (uint32_t)frame, AF_PACKET_FRAMES_MIN);
    uint32_t frames = ring_frames(rate_bps, frame_bytes_max, AF_PACKET_FRAMES_MIN, most);
    if (argument_find(device->args, "framecnt") == NULL && !argument_add(device, "framecnt", frames, err))
        return false;
    if (frame == DEVICE_AF_PACKET_FRAME_BYTES)
        return true;
    uint64_t block = device_argument_number(device, "blocksz", AF_PACKET_BLOCK_BYTES);
    if (block % frame != 0)
        return err_set(err, "device %s: framesz=%llu is no fraction of blocksz=%llu", device->name,
                       (unsigned long long)frame, (unsigned long long)block);
    return argument_at_least(device, "framesz", frame, err) &&
           argument_at_least(device, "blocksz", block, err);
}

static bool argument_expected(const struct device *device, const char *key, struct err *err)
{
    return argument_find(device->args, key) != NULL ||
           err_set(err, "device %s: %s=PATH of its socket expected", device->name, key);
}

static bool vhost_complete(struct device *device, struct err *err)
{
    device->listens = device_argument_number(device, "client", 0) == 0 ? "iface" : NULL;
    return argument_expected(device, "iface", err);
}

static bool virtio_user_complete(struct device *device, uint64_t rate_bps, struct err *err)
{
    uint64_t places = rate_bps <= 1000000000ULL ? VIRTIO_PLACES / 4 : VIRTIO_PLACES;
    places = device_argument_number(device, "queue_size", places);
    device->listens = device_argument_number(device, "server", 0) != 0 ? "path" : NULL;
    device->tx_descriptors = (uint16_t)MIN(places, (uint64_t)VIRTIO_PLACES_MAX);
    return argument_expected(device, "path", err) && argument_at_least(device, "queue_size", places, err);
}

bool device_parse(struct device *device, const char *text, uint32_t frame_bytes_max, uint64_t rate_bps,
                  struct err *err)
{
    *device = (struct device){
        .kind = DEVICE_NIC, .rx_descriptors = DEVICE_DESCRIPTORS, .tx_descriptors = DEVICE_DESCRIPTORS};
    size_t name_bytes = strcspn(text, ",");
    if (name_bytes == 0 || name_bytes >= sizeof(device->name) ||
        strlen(text + name_bytes) >= sizeof(device->args))
        return err_set(err, "device \"%.80s\": a PCI address or NAME[,ARGUMENT=VALUE…] expected", text);
    memcpy(device->name, text, name_bytes);
    if (text[name_bytes] == ',')
        memcpy(device->args, text + name_bytes + 1, strlen(text + name_bytes + 1));
    for (size_t index = 0; index < sizeof(device_prefixes) / sizeof(device_prefixes[0]); index++)
        if (strncmp(text, device_prefixes[index].prefix, strlen(device_prefixes[index].prefix)) == 0) {
            device->kind = device_prefixes[index].kind;
            device->vdev = true;
            break;
        }
    if (frame_bytes_max > device_frame_bytes_max(device->kind, UINT32_MAX))
        return err_set(err, "device %s: carries frames up to %u bytes, %u needed for this MTU", device->name,
                       device_frame_bytes_max(device->kind, UINT32_MAX), frame_bytes_max);
    device->buffer_bytes = device_buffer_bytes(frame_bytes_max);
    if (device->kind == DEVICE_NIC)
        device->rx_descriptors =
            (uint16_t)ring_frames(rate_bps, frame_bytes_max, DEVICE_DESCRIPTORS, NIC_DESCRIPTORS_MAX);
    if (device->kind == DEVICE_MEMIF)
        return memif_complete(device, frame_bytes_max, rate_bps, err);
    if (device->kind == DEVICE_AF_PACKET)
        return af_packet_complete(device, frame_bytes_max, rate_bps, err);
    if (device->kind == DEVICE_VHOST)
        return vhost_complete(device, err);
    if (device->kind == DEVICE_VIRTIO_USER)
        return virtio_user_complete(device, rate_bps, err);
    return true;
}
