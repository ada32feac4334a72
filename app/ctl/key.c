#include "app/ctl/key.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "app/ctl/client.h"
#include "app/key_file.h"
#include "conf/conf.h"
#include "conf/places.h"
#include "seal/key_text.h"
#include "seal/wipe.h"

#define EXIT_NO_KEY 1

static int fail(const char *text, int status)
{
    fprintf(stderr, "sluicectl: %s\n", text);
    return status;
}

/* The public key in that file; made where there is none. */
static bool public_key(const char *path, bool *made, char text[KEY_TEXT_BYTES], struct err *err)
{
    struct key_pair pair = {0};
    bool good = key_file_make(path, made, err) && key_file_read(path, &pair, err);
    key_text_public(text, pair.public_key);
    wipe(&pair, sizeof(pair));
    return good;
}

static void print_json(json_t *object)
{
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

int key_gen(const char *path, const char *name, bool json)
{
    char text[KEY_TEXT_BYTES], usual[PATH_BYTES], host[NAME_BYTES];
    bool made;
    struct err err;
    if (path[0] == '\0') {
        if (name != NULL ? !name_valid(name) : !conf_host_name(host))
            return fail(
                "no name that a node can have: 1 to 31 of a-z A-Z 0-9 . _ - expected; -n NAME, or a file",
                EXIT_USAGE);
        places_key_file(name != NULL ? name : host, usual);
        path = usual;
    }
    if (!public_key(path, &made, text, &err))
        return fail(err.text, EXIT_NO_KEY);
    if (!made) {
        err_set(&err, "%s: there is a key already, which no command overwrites; sluicectl key show prints it",
                path);
        return fail(err.text, EXIT_NO_KEY);
    }
    if (json)
        print_json(json_pack("{s:s, s:s}", "file", path, "key", text));
    else
        printf("%s\n", text);
    return EXIT_OK;
}

static json_t *address_json(const struct net_address *address, unsigned prefix_length)
{
    char ip[INET6_ADDRSTRLEN], text[INET6_ADDRSTRLEN + 8];
    inet_ntop(address->family == ADDRESS_IPV6 ? AF_INET6 : AF_INET, address->ip, ip, sizeof(ip));
    snprintf(text, sizeof(text), prefix_length > 0 ? "%s/%u" : "%s", ip, prefix_length);
    return json_string(text);
}

/* What others have to know of this node: the keys of its entry in rosters. */
static json_t *entry_of(const struct app_config *config, const char *key)
{
    const struct app_port_config *port = &config->ports[config->own_port];
    const struct net_address *address = &config->node.ports[config->own_port].address;
    bool told = config->own_address.family != ADDRESS_NONE; /* behind 1:1 NAT the port has another one */
    json_t *entry = json_object();
    json_object_set_new(entry, "name", json_string(config->node.name));
    json_object_set_new(entry, "address",
                        address_json(told ? &config->own_address : address, port->prefix_length));
    if (port->gateway.family != ADDRESS_NONE)
        json_object_set_new(entry, "gateway", address_json(&port->gateway, 0));
    if (config->own_port != 0)
        json_object_set_new(entry, "port", json_integer(config->own_port));
    if (address->udp_port != NODE_UDP_PORT)
        json_object_set_new(entry, "udp_port", json_integer(address->udp_port));
    json_object_set_new(entry, "key", json_string(key));
    return entry;
}

/* "  - {name: tokyo, address: 192.0.2.20/24, key: slk1:…}" */
static void print_line(json_t *entry)
{
    const char *name, *between = "  - {";
    json_t *value;
    json_object_foreach(entry, name, value)
    {
        const char *text = json_string_value(value);
        bool quoted = text != NULL && strchr(text, ':') != NULL && strcmp(name, "key") != 0; /* IPv6 */
        if (text != NULL)
            printf(quoted ? "%s%s: \"%s\"" : "%s%s: %s", between, name, text);
        else
            printf("%s%s: %lld", between, name, (long long)json_integer_value(value));
        between = ", ";
    }
    printf("}\n");
    json_decref(entry);
}

int key_show(const char *config_path, const char *name, bool json)
{
    static struct app_config config;
    struct conf_errors errors = {0};
    char text[KEY_TEXT_BYTES];
    bool made;
    struct err err;
    if (config_path == NULL)
        return fail("which node? -c NODE.yaml expected, or $SLUICE_CONFIG", EXIT_USAGE);
    if (!conf_read_identity(config_path, name, &config, &errors)) {
        conf_errors_print(&errors, stderr);
        return EXIT_USAGE;
    }
    places_complete(&config);
    if (!public_key(config.key_file, &made, text, &err))
        return fail(err.text, EXIT_NO_KEY);
    if (made)
        fprintf(stderr, "sluicectl: %s: a new key\n", config.key_file);
    (json ? print_json : print_line)(entry_of(&config, text));
    return EXIT_OK;
}
