/* Every datagram decoder, control bodies included; what is accepted must encode to the same bytes. */
#include "golden_seeds.h"
#include "../wire/roundtrip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    roundtrip_datagram(data, size);
    return 0;
}

void fuzz_seeds(struct seeds *seeds)
{
    golden_seeds(seeds, false);
}
