/* What node files and scenarios say of trains and estimates: rows of one struct node_probe_config. */
#include <string.h>

#include "conf/reader.h"
#include "node/node_config.h"

static bool parse_estimator(const struct conf_option *option, const char *text, void *field)
{
    const struct estimator_kind *kind = estimator_kind(text);
    (void)option;
    memcpy(field, &kind, sizeof(kind));
    return kind != NULL || strcmp(text, "none") == 0;
}

static const struct word switch_words[] = {{"off", false}, {"on", true}, {NULL, 0}};
static const struct word test_words[] = {{"late", false}, {"early", true}, {NULL, 0}};
const struct word conf_off_words[] = {{"on", false}, {"off", true}, {NULL, 0}};

const struct conf_option conf_probe_options[] = {
    {"trains", OPTION_WORD, FIELD(struct node_probe_config, off), .words = conf_off_words, .initial = "on",
     .help = "off: none are sent, and none of others taken"},
    {"estimator", OPTION_SCALAR, FIELD(struct node_probe_config, estimator), .initial = "sluice",
     .form = "none or the name of an estimator (README of probe)", .parse = parse_estimator,
     .help = "how paths from here are measured; none: not at all, others may still measure theirs to here"},
    {"background", OPTION_WORD, FIELD(struct node_probe_config, background), .words = switch_words,
     .initial = "off",
     .help = "on: paths are measured all the time, one after the other; off: when asked for"},
    {"self_test", OPTION_WORD, FIELD(struct node_probe_config, test_early), .words = test_words,
     .initial = "late",
     .help =
         "of a path's ends, one round trip; early: once its peer is up; late: before the first train to it"},
    {"load", OPTION_SHARE, FIELD(struct node_probe_config, load_ppb), .min = 1000, .max = PROBE_LOAD_PPB_MAX,
     .initial = "1%", .help = "of a path's capacity that its trains may take, over any 10 s"},
    {"width", OPTION_SHARE, FIELD(struct node_probe_config, width_ppb), .min = 1000, .max = 999999999,
     .initial = "0.5%",
     .help = "half-width of the interval that a measurement tries for, of the path's capacity"},
    {"period", OPTION_TIME, FIELD(struct node_probe_config, period_ns), .max = PROBE_PERIOD_NS_MAX,
     .initial = "1.9s", .help = "what a measurement lasts and stands for; 0s: until it has its width"},
    {"bytes", OPTION_SIZE, FIELD(struct node_probe_config, bytes_max), .initial = "0",
     .help = "of the trains of one measurement, on the wire; 0: what the load permits"},
    {"receive", OPTION_SIZE, FIELD(struct node_probe_config, receive_bytes), .initial = "0",
     .help =
         "of others' trains that are taken in any 10 s, and of own ones that others ask for; 0: 4 % of what "
         "may come in, at least 4 MB"},
    {.type = OPTION_END}};
