#include <stdlib.h>
#include <string.h>

#include "conf/scenario_file.h"
#include "conf/value.h"

#define CLOCK_OFFSET_MAX_NS (int64_t)(3600 * NS_PER_S)
#define CLOCK_SKEW_MAX_PPB  1000000

bool scenario_parse_offset(const struct conf_option *option, const char *text, void *field)
{
    int64_t value;
    (void)option;
    if (!value_parse_signed(VALUE_TIME, text, &value) || llabs(value) > CLOCK_OFFSET_MAX_NS)
        return false;
    memcpy(field, &value, sizeof(value));
    return true;
}

bool scenario_parse_skew(const struct conf_option *option, const char *text, void *field)
{
    int64_t value;
    (void)option;
    if (!value_parse_signed(VALUE_SKEW, text, &value) || llabs(value) > CLOCK_SKEW_MAX_PPB)
        return false;
    memcpy(field, &value, sizeof(value));
    return true;
}
