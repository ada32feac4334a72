#include "dpdk/arrivals.h"

#include <linux/if_packet.h>
#include <sys/mman.h>

#include "base/check.h"
#include "base/units.h"

#define BLOCK_BYTES 4096 /* the driver's blocksz, where none is given */
#define TAG_BYTES   4    /* the driver puts a tag back that the kernel took out */

void arrivals_open(struct arrivals *arrivals, const struct device *device, int socket)
{
    uint64_t frame = device_argument_number(device, "framesz", DEVICE_AF_PACKET_FRAME_BYTES);
    uint64_t frames = device_argument_number(device, "framecnt", 0);
    uint64_t block = device_argument_number(device, "blocksz", BLOCK_BYTES);
    *arrivals = (struct arrivals){.frame_bytes = (uint32_t)frame, .frames = (uint32_t)frames};
    if (socket < 0 || frames == 0 || frame == 0 || block < frame || block % frame != 0)
        return;
    arrivals->ring_bytes = 2 * (frames / (block / frame) * block);
    void *ring = mmap(NULL, arrivals->ring_bytes, PROT_READ, MAP_SHARED, socket, 0);
    arrivals->ring = ring == MAP_FAILED ? NULL : ring;
}

void arrivals_close(struct arrivals *arrivals)
{
    if (arrivals->ring != NULL)
        munmap(arrivals->ring, arrivals->ring_bytes);
    arrivals->ring = NULL;
}

static const struct tpacket2_hdr *place(const struct arrivals *arrivals, uint32_t behind)
{
    uint32_t index = (arrivals->next + behind) % arrivals->frames;
    return (const struct tpacket2_hdr *)(arrivals->ring + (uint64_t)index * arrivals->frame_bytes);
}

void arrivals_note(struct arrivals *arrivals, uint16_t room)
{
    CHECK(room <= ARRIVALS_MAX);
    uint16_t most = (uint16_t)MIN((uint32_t)room, arrivals->frames);
    for (arrivals->noted = 0; arrivals->noted < most; arrivals->noted++) {
        const struct tpacket2_hdr *header = place(arrivals, arrivals->noted);
        if ((__atomic_load_n(&header->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
            return;
        arrivals->notes[arrivals->noted].ns = header->tp_sec * NS_PER_S + header->tp_nsec;
        arrivals->notes[arrivals->noted].bytes = header->tp_snaplen;
    }
}

bool arrivals_took(struct arrivals *arrivals, struct rte_mbuf *const *mbufs, uint16_t count,
                   uint64_t *times_ns)
{
    for (uint16_t index = 0; index < count; index++) {
        bool noted = index < arrivals->noted;
        uint32_t bytes = noted ? arrivals->notes[index].bytes : mbufs[index]->pkt_len;
        if (mbufs[index]->pkt_len != bytes && mbufs[index]->pkt_len != bytes + TAG_BYTES) {
            arrivals_close(arrivals);
            return false;
        }
        times_ns[index] = noted ? arrivals->notes[index].ns : 0;
    }
    arrivals->next = (arrivals->next + count) % arrivals->frames;
    return true;
}
