/* The public keys in rosters and peers. No message repeats a text: it may be a private key in the wrong place. */
#include <stdio.h>
#include <string.h>

#include "conf/node_file.h"
#include "seal/key_text.h"

static void read_key(struct conf_reader *reader, const yaml_node_t *node, uint8_t key[SEAL_KEY_BYTES])
{
    const char *text = conf_scalar(node);
    enum key_text_fault fault = key_text_read_public(key, text != NULL ? text : "");
    if (text == NULL || text[0] == '\0')
        conf_error(reader, node, "no value, expected a public key, as `sluicectl key show` prints it");
    else if (fault == KEY_TEXT_WRONG_KIND)
        conf_error(
            reader, node,
            "a private key, which belongs into the key file of its node alone. Others may have read it "
            "here: let that node make another one");
    else if (fault != KEY_TEXT_GOOD)
        conf_error(reader, node, "no public key, as `sluicectl key show` prints it: %s",
                   key_text_fault_words(fault));
    else if (key_is_low_order(key))
        conf_error(reader, node, "no node's key: with this one everybody agrees on the same secret");
}

static void read_keys(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                      void *field)
{
    const struct node_file *file = reader->context;
    struct app_keys *keys = field;
    (void)option;
    if (file->keys_ignored)
        return;
    keys->line = (uint32_t)conf_line(node);
    if (node->type != YAML_SEQUENCE_NODE) {
        keys->count = 1;
        read_key(reader, node, keys->keys[0]);
        return;
    }
    if (conf_length(node) == 0 || conf_length(node) > APP_KEYS_MAX)
        conf_error(reader, node, "a list of %zu keys, expected one or two", conf_length(node));
    for (; keys->count < conf_length(node) && keys->count < APP_KEYS_MAX; keys->count++) {
        size_t previous = conf_enter(reader, "[%u]", keys->count);
        read_key(reader, conf_at(reader, node, keys->count), keys->keys[keys->count]);
        conf_leave(reader, previous);
    }
}

const struct conf_option node_file_key_options[] = {
    {"key", OPTION_CUSTOM, FIELD(struct node_file_peer, keys),
     .form = "a public key, slk1:… | [new, old] while it changes", .read = read_keys,
     .help =
         "public key, as `sluicectl key show` prints it there; needed, unless node.insecure says otherwise"},
    {.type = OPTION_END}};

/* Sites of the roster, this node too, then those of peers. NULL: there are no more. */
static const struct node_file_peer *entry_at(const struct node_file *file, unsigned index,
                                             char place[CONF_WHERE_BYTES])
{
    unsigned peer = index - file->site_count;
    bool in_roster = index < file->site_count;
    snprintf(place, CONF_WHERE_BYTES, "%s[%u]", in_roster ? "roster" : "peers", in_roster ? index : peer);
    if (in_roster)
        return &file->sites[index].peer;
    return peer < file->config.node.peer_count && file->peers[peer].site == 0 ? &file->peers[peer] : NULL;
}

static bool is_key(const uint8_t key[SEAL_KEY_BYTES])
{
    static const uint8_t none[SEAL_KEY_BYTES]; /* a malformed one, of which an error tells */
    return memcmp(key, none, sizeof(none)) != 0;
}

/* Whether that entry has it among its first `count` keys. */
static bool has_key(const struct app_keys *keys, unsigned count, const uint8_t key[SEAL_KEY_BYTES])
{
    for (unsigned index = 0; index < count; index++)
        if (memcmp(keys->keys[index], key, SEAL_KEY_BYTES) == 0)
            return true;
    return false;
}

static void check_distinct(struct conf_reader *reader, const struct node_file *file, unsigned index)
{
    char place[CONF_WHERE_BYTES], earlier_place[CONF_WHERE_BYTES];
    const struct node_file_peer *entry = entry_at(file, index, place);
    strcat(place, ".key");
    for (unsigned number = 0; number < entry->keys.count; number++) {
        const uint8_t *key = entry->keys.keys[number];
        if (!is_key(key))
            continue;
        if (has_key(&entry->keys, number, key))
            conf_fault(reader, place, "the same key twice, expected a new and an old one");
        for (unsigned other = 0; other < index; other++) {
            const struct node_file_peer *earlier = entry_at(file, other, earlier_place);
            if (has_key(&earlier->keys, earlier->keys.count, key))
                conf_fault(reader, place, "is also the key of %s, \"%s\"", earlier_place, earlier->node.name);
        }
    }
}

/* Who asks for it by mistake, or has forgotten it, is not to believe that his keys are used. */
static void check_none(struct conf_reader *reader, struct node_file *file)
{
    static const char option[] = "node.insecure";
    char place[CONF_WHERE_BYTES];
    const struct node_file_peer *entry;
    file->config.insecure_line = (uint32_t)conf_where_line(reader, option);
    for (unsigned index = 0; (entry = entry_at(file, index, place)) != NULL; index++)
        if (entry->keys.count > 0) {
            conf_fault(reader, option,
                       "benchmark means no keys, but %s has one: take away this line, or the keys", place);
            return;
        }
}

void node_file_check_keys(struct conf_reader *reader, struct node_file *file)
{
    char place[CONF_WHERE_BYTES];
    const struct node_file_peer *entry;
    if (file->config.insecure)
        check_none(reader, file);
    if (file->config.insecure || file->keys_ignored)
        return;
    for (unsigned index = 0; (entry = entry_at(file, index, place)) != NULL; index++) {
        if (entry->keys.count == 0)
            conf_fault(reader, place,
                       "key missing: at that site `sluicectl key show -c FILE -n %s` prints it",
                       entry->node.name[0] != '\0' ? entry->node.name : "NAME");
        check_distinct(reader, file, index);
    }
}
