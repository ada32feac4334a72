/* CRC-32C by half bytes: 16 table words instead of 256. What is checked by it is at most 24 KB and rare, so the
 * quarter of the speed does not matter. */
#include "base/crc32c.h"

/* Entry n is the remainder of n, four bits shifted through the reflected polynomial 0x82f63b78. */
static const uint32_t remainders[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};

uint32_t crc32c_add(uint32_t crc, const uint8_t *data, size_t length)
{
    crc = ~crc;
    for (size_t index = 0; index < length; index++) {
        crc ^= data[index];
        crc = crc >> 4 ^ remainders[crc & 15];
        crc = crc >> 4 ^ remainders[crc & 15];
    }
    return ~crc;
}

uint32_t crc32c(const uint8_t *data, size_t length)
{
    return crc32c_add(0, data, length);
}
