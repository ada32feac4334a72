#include "relay_script.h"

#include <stdio.h>
#include <string.h>

#include "relay_seeds.h"

void script_add(struct script *script, enum step_kind kind, uint8_t peer, uint8_t time,
                const uint8_t *arguments)
{
    CHECK(script->length + STEP_BYTES <= sizeof(script->bytes));
    uint8_t *out = script->bytes + script->length;
    out[0] = (uint8_t)kind;
    out[1] = peer;
    out[2] = time;
    memcpy(out + 3, arguments, STEP_ARGUMENTS);
    script->length += STEP_BYTES;
}

struct script *script_begin(uint8_t configuration)
{
    static struct script fresh;
    struct script *script = &fresh;
    script->length = 0;
    STEP(STEP_TIME, 0, 0, configuration);
    for (unsigned second = 0; second < 3; second++) /* sessions, then measurements */
        STEP(STEP_TIME, 0, 60, 0);
    return script;
}

void script_end(struct seeds *seeds, const char *name, const struct script *script, uint32_t done)
{
    LLVMFuzzerTestOneInput(script->bytes, script->length);
    if (relay_outcome.done != done)
        fprintf(stderr, "seed %s: %u of %u jobs done; %s\n", name, relay_outcome.done, relay_outcome.jobs,
                relay_outcome.text);
    CHECK(relay_outcome.done == done);
    seeds->emit(seeds, name, script->bytes, script->length);
}
