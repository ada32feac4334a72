#include "dpdk/arrivals.h"

#include <linux/if_packet.h>
#include <sys/mman.h>

#include "base/units.h"

#define BLOCK_BYTES 4096 /* blocksz, where none is given: of its driver */
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

uint64_t arrivals_next(struct arrivals *arrivals, const struct rte_mbuf *mbuf)
{
    if (arrivals->ring == NULL)
        return 0;
    const struct tpacket2_hdr *header =
        (const struct tpacket2_hdr *)(arrivals->ring + (uint64_t)arrivals->next * arrivals->frame_bytes);
    arrivals->next = arrivals->next + 1 == arrivals->frames ? 0 : arrivals->next + 1;
    if (mbuf->pkt_len != header->tp_snaplen && mbuf->pkt_len != header->tp_snaplen + TAG_BYTES) {
        arrivals_close(arrivals);
        return 0;
    }
    return header->tp_sec * NS_PER_S + header->tp_nsec;
}
