/* Node files: YAML → struct app_config. */
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "conf/conf.h"
#include "conf/node_file.h"
#include "conf/reference.h"
#include "conf/settings.h"
#include "node/node.h"

#define RING_NONE "none"

static bool parse_address(const struct conf_option *option, const char *text, void *field)
{
    (void)option;
    return address_parse(text, field);
}

/* "10.0.0.1/24" into the port's address and prefix length. */
static bool parse_prefixed(const char *text, struct node_file_port *port)
{
    char address[64], *end;
    const char *slash = strchr(text, '/');
    if (slash == NULL || slash[1] < '0' || slash[1] > '9' || (size_t)(slash - text) >= sizeof(address))
        return false;
    memcpy(address, text, (size_t)(slash - text));
    address[slash - text] = '\0';
    unsigned long length = strtoul(slash + 1, &end, 10);
    if (*end != '\0' || !address_parse(address, &port->node.address))
        return false;
    port->app.prefix_length = (uint8_t)length;
    return length > 0 && length <= (port->node.address.family == ADDRESS_IPV4 ? 32 : 128);
}

/* The same, or "10.0.0.1", "fe80::1%eth0": whether that suffices depends on the device. */
static bool parse_network(const struct conf_option *option, const char *text, void *field)
{
    struct node_file_port *port = field;
    char address[64];
    size_t bytes = strcspn(text, "%");
    (void)option;
    if (strchr(text, '/') != NULL)
        return parse_prefixed(text, port);
    if (bytes >= sizeof(address))
        return false;
    memcpy(address, text, bytes);
    address[bytes] = '\0';
    const char *interface = text[bytes] == '%' ? text + bytes + 1 : "";
    return (text[bytes] == '\0' || interface[0] != '\0') &&
           name_copy(port->app.interface, sizeof(port->app.interface), interface) &&
           address_parse(address, &port->node.address);
}

/* Of a site of the roster: with the prefix length where it is a node's own. */
static bool parse_site_address(const struct conf_option *option, const char *text, void *field)
{
    struct node_file_site *site = field;
    struct node_file_port port = {0};
    (void)option;
    if (strchr(text, '/') == NULL)
        return address_parse(text, &site->peer.node.address);
    if (!parse_prefixed(text, &port))
        return false;
    site->peer.node.address = port.node.address;
    site->prefix_length = port.app.prefix_length;
    return true;
}

static bool parse_mac(const struct conf_option *option, const char *text, void *field)
{
    struct app_port_config *port = field;
    (void)option;
    for (unsigned index = 0; index < MAC_BYTES; index++, text += 3) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *high = text[0] != '\0' ? strchr(digits, text[0]) : NULL;
        const char *low = high != NULL && text[1] != '\0' ? strchr(digits, text[1]) : NULL;
        if (low == NULL || text[2] != (index + 1 < MAC_BYTES ? ':' : '\0'))
            return false;
        port->gateway_mac[index] = (uint8_t)((high - digits) % 16 * 16 + (low - digits) % 16);
    }
    port->static_mac = true;
    return (port->gateway_mac[0] & 1) == 0; /* no group address */
}

/* The word spread, or a number. */
static bool parse_worker(const struct conf_option *option, const char *text, void *field)
{
    struct app_port_config *port = field;
    char *end;
    (void)option;
    port->worker = APP_WORKER_SPREAD;
    if (strcmp(text, "spread") == 0)
        return true;
    unsigned long number = strtoul(text, &end, 10);
    port->worker = (uint16_t)number;
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && number < APP_LCORES_MAX;
}

static void add_eal_option(struct conf_reader *reader, const yaml_node_t *node, const char *name,
                           const char *value)
{
    struct node_file *file = reader->context;
    if (value == NULL || file->config.eal_option_count == APP_EAL_OPTIONS_MAX) {
        conf_error(reader, node,
                   value == NULL ? "expected a value, true, false or a list of values"
                                 : "too many EAL options");
        return;
    }
    if (strcmp(value, "false") == 0)
        return;
    char *option = file->config.eal_options[file->config.eal_option_count++];
    bool flag = value[0] == '\0' || strcmp(value, "true") == 0;
    int length = snprintf(option, APP_DEVICE_BYTES, "%s%s%s", name, flag ? "" : "=", flag ? "" : value);
    if (length >= APP_DEVICE_BYTES)
        conf_error(reader, node, "longer than %d characters", APP_DEVICE_BYTES - 1);
}

static void read_eal(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *map,
                     void *field)
{
    const char *name;
    yaml_node_t *key, *value;
    (void)option;
    (void)field;
    if (map->type != YAML_MAPPING_NODE && !conf_is_null(map))
        conf_error(reader, map, "expected a map of option: value");
    for (size_t index = 0; conf_pair(reader, map, index, &name, &key, &value); index++) {
        if (name == NULL || name[0] == '\0' || name[0] == '-' || strpbrk(name, "= \t") != NULL) {
            conf_error(reader, key, "\"%s\" is not the name of an EAL option, written without its dashes",
                       name != NULL ? name : "?");
            continue;
        }
        size_t previous = conf_enter(reader, "%s", name);
        for (size_t item = 0; item < conf_length(value); item++) {
            yaml_node_t *node = conf_at(reader, value, item);
            add_eal_option(reader, node, name, conf_scalar(node));
        }
        if (value->type != YAML_SEQUENCE_NODE)
            add_eal_option(reader, value, name, conf_scalar(value));
        conf_leave(reader, previous);
    }
}

static void read_sources(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                         void *field)
{
    struct node_directory *directory = field;
    const char *text = conf_scalar(node);
    (void)option;
    directory->any_source = text != NULL && strcmp(text, "any") == 0;
    if (!directory->any_source && text != NULL)
        conf_error(reader, node, "\"%s\", expected any or a list of names", text);
    else if (!directory->any_source)
        directory->source_count = conf_read_names(reader, node, directory->sources, NODE_SOURCES_MAX);
}

static void read_relay_for(struct conf_reader *reader, const struct conf_option *option, yaml_node_t *node,
                           void *field)
{
    struct node_config *config = field;
    const char *text = conf_scalar(node);
    config->relay_for_some = text == NULL;
    if (text != NULL && strcmp(text, "roster") != 0)
        conf_error(reader, node, "\"%s\", expected %s", text, option->form);
    else if (text == NULL)
        config->relay_for_count = conf_read_names(reader, node, config->relay_for, NODE_SOURCES_MAX);
}

static const struct word store_words[] = {{"disk", NODE_STORE_DISK}, {"none", NODE_STORE_NONE}, {NULL, 0}};
static const struct word insecure_words[] = {{"no", false}, {"benchmark", true}, {NULL, 0}};
static const struct word planner_words[] = {{"auto", APP_PLANNER_AUTO}, {"off", APP_PLANNER_OFF}, {NULL, 0}};
static const struct word idle_words[] = {
    {"sleep", APP_IDLE_SLEEP}, {"yield", APP_IDLE_YIELD}, {"poll", APP_IDLE_POLL}, {NULL, 0}};

static const struct conf_option identity_options[] = {
    {"name", OPTION_NAME, FIELD(struct node_file, config.node.name),
     .help = "what the other appliances call this one; default: the host's name; --name goes before both"},
    {"udp_port", OPTION_UINT, FIELD(struct node_file, udp_port), .min = 1,
     .initial = OPTION_INITIAL(NODE_UDP_PORT),
     .help = "the one UDP port of this appliance: what a firewall has to let through"},
    {"key_file", OPTION_PATH, .home = true, FIELD(struct node_file, config.key_file),
     .help = "this node's private key, made where there is none; nobody else may read it; "
             "default: /var/lib/sluice/NAME.key, or below the user's own directories"},
    {"insecure", OPTION_WORD, FIELD(struct node_file, config.insecure), .words = insecure_words,
     .initial = "no",
     .help = "benchmark: no keys; anybody on the way reads and changes all packets. Only without a disk "
             "(store: none) "
             "or between devices on one machine"},
    {"store", OPTION_WORD, FIELD(struct node_file, config.node.store), .words = store_words,
     .initial = "disk", .help = "none: hash what comes and discard it (benchmarks)"},
    {"seed", OPTION_UINT, FIELD(struct node_file, config.node.seed), .initial = "1",
     .help = "of session and job numbers"},
    {.type = OPTION_END}};

static const struct conf_option port_options[] = {
    {"device", OPTION_TEXT, FIELD(struct node_file_port, app.device),
     .help = "PCI address of a NIC bound to DPDK (0000:3b:00.0), or a virtual device with its arguments "
             "(net_tap0,iface=tap0); default: a UDP socket of the kernel, with its addresses and routes"},
    {"address", OPTION_SCALAR,
     .form = "an IP address like 10.0.0.1 or fe80::1%eth0, with a device 10.0.0.1/24 or fd00::1/64",
     .parse = parse_network,
     .help =
         "own IP address, with a device the length of its network prefix too; default: those in the roster"},
    {"gateway", OPTION_SCALAR, FIELD(struct node_file_port, app.gateway), .form = "an IP address",
     .parse = parse_address, .help = "router to peers that are not on the link"},
    {"gateway_mac", OPTION_SCALAR, .offset = offsetof(struct node_file_port, app),
     .form = "the MAC address of one host, like 02:00:00:00:00:01", .parse = parse_mac,
     .help = "the router's MAC address, where ARP or ND cannot find it"},
    {"vlan", OPTION_UINT, FIELD(struct node_file_port, app.vlan), .max = 4094, .initial = "0",
     .help = "VLAN tag of all frames; 0: untagged"},
    {"mtu", OPTION_UINT, FIELD(struct node_file_port, node.mtu), .min = MTU_MIN, .max = MTU_MAX,
     .initial = "1500", .help = "largest IP packet on the link"},
    {"rate", OPTION_RATE, FIELD(struct node_file_port, node.rate_bps), .min = 100000, .initial = "10Gbps",
     .help = "what may be sent, wire rate: that of the NIC or of the narrower uplink behind it"},
    {"rate_down", OPTION_RATE, FIELD(struct node_file_port, node.down_bps), .min = 100000,
     .help = "what may be received; default: as rate"},
    {"worker", OPTION_SCALAR, .offset = offsetof(struct node_file_port, app), .initial = "spread",
     .form = "spread or a whole number below 16", .parse = parse_worker,
     .help =
         "which of lcores drives this port, counted from 0, the node's own; spread: those after it in turn"},
    {.type = OPTION_END}};

static const struct conf_option peer_options[] = {
    {"name", OPTION_NAME, FIELD(struct node_file_peer, node.name), .required = true,
     .help = "name in the peer's own node file"},
    {"address", OPTION_SCALAR, FIELD(struct node_file_peer, node.address), .form = "an IP address",
     .parse = parse_address, .required = true, .help = "IP address of the peer"},
    {.type = OPTION_INCLUDE, .options = node_file_key_options},
    {"port", OPTION_UINT, FIELD(struct node_file_peer, node.port), .max = NODE_PORTS_MAX - 1, .initial = "0",
     .help = "which of the own ports leads there, counted from 0"},
    {"udp_port", OPTION_UINT, FIELD(struct node_file_peer, udp_port), .min = 1,
     .help = "UDP port of the peer; default: the same as the own"},
    {"probe", OPTION_WORD, FIELD(struct node_file_peer, node.probe_off), .words = conf_off_words,
     .initial = "on", .help = "off: no trains to this peer, and none of it"},
    {"window", OPTION_UINT, FIELD(struct node_file_peer, node.window_packets), .initial = "0",
     .help = "packets tracked in each direction, a power of two; 0: from rate and timeouts.rtt_max"},
    {.type = OPTION_END}};

static const struct conf_option roster_options[] = {
    {"name", OPTION_NAME, FIELD(struct node_file_site, peer.node.name), .required = true,
     .help = "name of the site"},
    {"address", OPTION_SCALAR, .form = "an IP address, or one with prefix length like 10.0.0.1/24",
     .parse = parse_site_address, .required = true,
     .help = "IP address of the site; with the prefix length the site's own file need not say either"},
    {.type = OPTION_INCLUDE,
     .options = node_file_key_options,
     .offset = offsetof(struct node_file_site, peer)},
    {"gateway", OPTION_SCALAR, FIELD(struct node_file_site, gateway), .form = "an IP address",
     .parse = parse_address, .help = "of the site itself: its router to those that are not on its link"},
    {"port", OPTION_UINT, FIELD(struct node_file_site, peer.node.port), .max = NODE_PORTS_MAX - 1,
     .initial = "0", .help = "which of the own ports leads there, or has that address"},
    {"udp_port", OPTION_UINT, FIELD(struct node_file_site, peer.udp_port), .min = 1,
     .help = "UDP port of the site; default: node.udp_port"},
    {"probe", OPTION_WORD, FIELD(struct node_file_site, peer.node.probe_off), .words = conf_off_words,
     .initial = "on", .help = "off: no trains to this site, and none of it"},
    {"window", OPTION_UINT, FIELD(struct node_file_site, peer.node.window_packets), .initial = "0",
     .help = "packets tracked in each direction, a power of two; 0: from rate and timeouts.rtt_max"},
    {.type = OPTION_END}};

static const struct word create_words[] = {{"yes", true}, {"no", false}, {NULL, 0}};

static const struct conf_option accept_options[] = {
    {"owner", OPTION_BOOL, FIELD(struct node_directory, accept.owner), .initial = "false",
     .help = "user and group ids, where the appliance runs as root"},
    {"setid", OPTION_BOOL, FIELD(struct node_directory, accept.set_id), .initial = "false",
     .help = "set-user-id and set-group-id bits, and files' sticky bits; only together with owner"},
    {"xattrs", OPTION_BOOL, FIELD(struct node_directory, accept.xattrs), .initial = "false",
     .help = "extended attributes in user.*"},
    {.type = OPTION_END}};

static const struct conf_option directory_options[] = {
    {"name", OPTION_NAME, FIELD(struct node_directory, name), .required = true,
     .help = "what jobs call it (directory: NAME)"},
    {"path", OPTION_PATH, .home = true, FIELD(struct node_directory, path), .required = true,
     .help = "where it is"},
    {"create", OPTION_WORD, FIELD(struct node_directory, create), .words = create_words, .initial = "no",
     .help = "yes: it is made at the start where it is missing, with what leads there"},
    {"sources", OPTION_CUSTOM, .form = "any | list of peers", .read = read_sources, .required = true,
     .help = "the sites whose jobs may write below it; all others are refused"},
    {"accept", OPTION_MAP, .options = accept_options,
     .help = "what it keeps of the directories that jobs send with owner: keep or xattrs: keep"},
    {.type = OPTION_END}};

static const struct conf_option memory_options[] = {
    {"buffer", OPTION_SIZE, FIELD(struct node_file, config.node.buffer_bytes), .max = 1ULL << 40,
     .initial = "256MiB",
     .help =
         "symbol buffer: holds what is under way and not yet with every child; not given, less where that is "
         "more than half of the memory"},
    {"blocks_max", OPTION_UINT, FIELD(struct node_file, config.node.blocks_max), .min = 64, .max = 1ULL << 32,
     .initial = "262144", .help = "blocks of all running jobs together, about 1 MiB each"},
    {"dpdk", OPTION_SIZE, FIELD(struct node_file, config.memory_bytes), .initial = "0",
     .help = "memory for DPDK, packet buffers and symbol buffer included; 0: computed"},
    {"hugepages", OPTION_BOOL, FIELD(struct node_file, config.hugepages), .initial = "true",
     .help = "use huge pages when the free ones hold all that is needed; else transparent ones"},
    {.type = OPTION_END}};

static const struct word relay_words[] = {{"yes", false}, {"no", true}, {NULL, 0}};

/* The word none, or a path. */
static bool parse_matrix(const struct conf_option *option, const char *text, void *field)
{
    char *path = field;
    path[0] = '\0';
    return strcmp(text, "none") == 0 || (text[0] == '/' && name_copy(path, option->bytes, text));
}

static const struct conf_option plan_options[] = {
    {"avb", OPTION_SCALAR, FIELD(struct node_file, config.avb_file), .initial = "none",
     .form = "none or the absolute path of a CSV file", .parse = parse_matrix,
     .help = "available bandwidth between sites in Mbit/s, a row for each sender; read anew before each job "
             "from here"},
    {"distance", OPTION_SCALAR, FIELD(struct node_file, config.distance_file), .initial = "none",
     .form = "none or the absolute path of a CSV file", .parse = parse_matrix,
     .help =
         "distances between sites in any unit, for metric: distance; the same form, and read when avb is"},
    {"relay", OPTION_WORD, FIELD(struct node_file, config.node.leaf), .words = relay_words, .initial = "yes",
     .help = "no: jobs of other nodes end here, none goes through"},
    {"relay_for", OPTION_CUSTOM, FIELD(struct node_file, config.node), .form = "roster | list of peers",
     .read = read_relay_for,
     .help = "whose jobs may go through without writing here, and who may ask for measurements for a job, as "
             "those may that a directory lists; default: roster, all peers"},
    {"packets_ps", OPTION_UINT, FIELD(struct node_file, config.node.packets_ps), .initial = "0",
     .help = "packets a second that this machine can send and receive, for planners; 0: no limit"},
    {.type = OPTION_END}};

/* The word none stays as it is: complete() tells it from a ring of which nothing is said. */
static bool parse_ring(const struct conf_option *option, const char *text, void *field)
{
    return (strcmp(text, RING_NONE) == 0 || text[0] == '/') && name_copy(field, option->bytes, text);
}

/* As this machine knows it: the file of another machine may name others. Node files are read before there are threads,
 * and getgrnam has room for as many members as a group has. */
static bool parse_group(const struct conf_option *option, const char *text, void *field)
{
    struct app_group *own = field;
    (void)option;
    if (!name_copy(own->name, sizeof(own->name), text))
        return false;
    errno = 0;
    const struct group *group = getgrnam(text);
    bool unknown = errno == 0 || errno == ENOENT || errno == ESRCH || errno == EBADF || errno == EPERM;
    own->refused = group == NULL && !unknown ? errno : 0;
    if (group != NULL)
        own->id = group->gr_gid;
    return group != NULL || own->refused != 0;
}

static const struct conf_option control_options[] = {
    {"socket", OPTION_PATH, .home = true, .offset = offsetof(struct node_file, config.control_socket),
     .bytes = 108,
     .help =
         "unix socket that sluicectl connects to; default: /run/sluice/NAME.sock, or below the user's own "
         "directories"},
    {"group", OPTION_SCALAR, FIELD(struct node_file, config.control_group),
     .form = "the name of a group of this machine", .parse = parse_group,
     .help = "the socket's group: its members may use it too; default: that of the appliance's user"},
    {"ring", OPTION_SCALAR, FIELD(struct node_file, config.control_ring), .form = "none or an absolute path",
     .parse = parse_ring,
     .help =
         "shared memory for sluice-planner; none: no job begins here; default: socket, with .ring for .sock"},
    {.type = OPTION_END}};

#define UNIT_MS "ms"
#define UNIT_S  "s"
#define UNIT_H  "h"
#define TIMEOUT(key, field, least, least_unit, most, most_unit, number, unit, text)                          \
    {#key,                                                                                                   \
     OPTION_TIME,                                                                                            \
     FIELD(struct node_file, config.node.field),                                                             \
     .min = least * NS_PER_##least_unit,                                                                     \
     .max = most * NS_PER_##most_unit,                                                                       \
     .initial = #number UNIT_##unit,                                                                         \
     .help = text},
static const struct conf_option timeout_options[] = {
#include "node/timeouts.def"
    {.type = OPTION_END}};
#undef TIMEOUT

static const struct conf_option lcore_item = {"lcore", OPTION_UINT, .bytes = sizeof(uint16_t), .max = 1023,
                                              .help = "a CPU"};

static const struct conf_option disk_options[] = {
    {"threads", OPTION_UINT, FIELD(struct node_file, config.disk_threads), .min = 1, .max = 16,
     .initial = "1",
     .help = "threads that read, write and hash, for each filesystem (four are served apart)"},
    {"cpus", OPTION_LIST, LIST_FIELD(struct node_file, config.disk_cpus, config.disk_cpu_count),
     .item = &lcore_item,
     .help = "CPUs on which all threads of the disk run; default: those that the appliance may use"},
    {"index", OPTION_SIZE, FIELD(struct node_file, config.disk_index_bytes), .min = 1ULL << 20,
     .max = 1ULL << 36, .initial = "256MiB",
     .help = "memory for the lists of files of all directories that arrive at once, about 72 bytes a file"},
    {.type = OPTION_END}};

static const struct conf_option user_item = {"user", OPTION_TEXT, .bytes = APP_USER_BYTES,
                                             .help = "a user, or a group as \"@NAME\""};

static const struct conf_option outgoing_options[] = {
    {"path", OPTION_PATH, .home = true, FIELD(struct app_outgoing, path), .required = true,
     .help = "a directory; jobs may send what lies below it, with the appliance's rights to read"},
    {"users", OPTION_LIST, LIST_FIELD(struct app_outgoing, users, user_count), .item = &user_item,
     .help = "users, and groups as \"@NAME\", who may; default: all who may use the control socket"},
    {.type = OPTION_END}};

const struct conf_option node_file_options[] = {
    {"node", OPTION_MAP, .options = identity_options, .help = "this appliance"},
    {"ports", OPTION_LIST, LIST_FIELD(struct node_file, ports, config.node.port_count),
     .options = port_options,
     .help = "its network interfaces; default: one, a UDP socket with the roster's address"},
    {"roster", OPTION_LIST, LIST_FIELD(struct node_file, sites, site_count), .options = roster_options,
     .help = "all sites, this one too: the same list in every site's file, instead of peers"},
    {"peers", OPTION_LIST, LIST_FIELD(struct node_file, peers, config.node.peer_count),
     .options = peer_options, .help = "the other appliances; packets go only to and from them"},
    {"directories", OPTION_LIST,
     LIST_FIELD(struct node_file, config.node.directories, config.node.directory_count),
     .options = directory_options, .help = "where received objects may be written"},
    {"outgoing", OPTION_LIST, LIST_FIELD(struct node_file, config.outgoing, config.outgoing_count),
     .options = outgoing_options,
     .help = "from where jobs of others than root may send; default: what the caller can read himself, which "
             "only an appliance that is root can tell"},
    {"memory", OPTION_MAP, .options = memory_options, .help = "sizes, checked and printed before the start"},
    {"lcores", OPTION_LIST, LIST_FIELD(struct node_file, config.lcores, config.lcore_count),
     .item = &lcore_item,
     .help =
         "CPUs of the packet workers: the node's, then those of ports; one is enough; default: one worker "
         "that the kernel places"},
    {"idle", OPTION_WORD, FIELD(struct node_file, config.idle), .words = idle_words, .initial = "sleep",
     .help = "what a worker does when there is nothing to do: sleep shares the CPU, poll owns it"},
    {"eal", OPTION_CUSTOM, .form = "a map of option: value", .read = read_eal,
     .help = "further EAL options without their dashes; true: without value; a list: several times"},
    {"manifests", OPTION_PATH, .home = true, FIELD(struct node_file, config.node.manifests),
     .help =
         "directory for the final manifests of jobs that have their source here; default: none are written"},
    {"control", OPTION_MAP, .options = control_options, .help = "ways in"},
    {"planner", OPTION_WORD, FIELD(struct node_file, config.planner), .words = planner_words,
     .initial = "auto",
     .help = "auto: sluice-planner is started when a job needs it, from beside sluice or by PATH; off: "
             "somebody else runs it"},
    {"planner_user", OPTION_TEXT, FIELD(struct node_file, config.planner_user),
     .help =
         "user that it runs as, whoever starts it: the ring is made for him; default: the appliance's own"},
    {"plan", OPTION_MAP, .options = plan_options,
     .help = "what planners are told of this appliance, and what they know besides"},
    {"probe", OPTION_MAP, .options = conf_probe_options,
     .offset = offsetof(struct node_file, config.node.probe),
     .help = "how the bandwidth that paths have left is measured by trains of packets"},
    {"timeouts", OPTION_MAP, .options = timeout_options, .help = "when patience ends"},
    {"disk", OPTION_MAP, .options = disk_options, .help = "work outside the packet workers"},
    {.type = OPTION_END}};

/* The ring lies beside the control socket unless the file says otherwise. */
static void complete_ring(struct app_config *config)
{
    static const char suffix[] = ".sock";
    char *ring = config->control_ring;
    if (strcmp(ring, RING_NONE) == 0)
        ring[0] = '\0';
    else if (ring[0] == '\0' && config->control_socket[0] == '\0')
        config->ring_by_name = true;
    else if (ring[0] == '\0') {
        size_t length = strlen(config->control_socket), tail = sizeof(suffix) - 1;
        if (length > tail && strcmp(config->control_socket + length - tail, suffix) == 0)
            length -= tail;
        snprintf(ring, PATH_BYTES, "%.*s.ring", (int)length, config->control_socket);
    }
}

/* The UDP port and the sizes that follow from others. */
static void complete(struct node_file *file)
{
    struct app_config *config = &file->config;
    complete_ring(config);
    for (uint16_t index = 0; index < config->node.port_count; index++) {
        struct node_file_port *port = &file->ports[index];
        port->node.address.udp_port = file->udp_port;
        port->app.frame_bytes_max = port->node.mtu + ETHERNET_HEADER_BYTES + (port->app.vlan != 0 ? 4 : 0);
        if (port->app.worker == APP_WORKER_SPREAD)
            port->app.worker = config->lcore_count < 2 ? 0 : 1 + index % (config->lcore_count - 1);
        config->node.ports[index] = port->node;
        config->ports[index] = port->app;
    }
    for (uint16_t index = 0; index < config->node.peer_count; index++) {
        struct node_file_peer *peer = &file->peers[index];
        peer->node.address.udp_port = peer->udp_port != 0 ? peer->udp_port : file->udp_port;
        config->node.peers[index] = peer->node;
        config->peer_keys[index] = peer->keys;
    }
}

/* Where nothing is said of ports there is one. */
static void read_ports(struct conf_reader *reader, struct node_file *file)
{
    yaml_node_t *ports = conf_find(reader, yaml_document_get_root_node(&reader->document), "ports");
    if (ports == NULL) {
        conf_apply_defaults(port_options, &file->ports[0]);
        file->config.node.port_count = 1;
    }
    for (uint16_t index = 0; index < file->config.node.port_count && ports != NULL; index++)
        file->ports[index].app.rate_given = conf_find(reader, conf_at(reader, ports, index), "rate") != NULL;
}

static void read_buffer(struct conf_reader *reader, struct node_file *file)
{
    yaml_node_t *memory = conf_find(reader, yaml_document_get_root_node(&reader->document), "memory");
    file->config.buffer_given =
        memory != NULL && memory->type == YAML_MAPPING_NODE && conf_find(reader, memory, "buffer") != NULL;
}

/* The node's own check names the key first, so that its line can be found. */
static void check_by_node(struct conf_reader *reader, const struct node_config *config)
{
    struct node_config started = *config;
    struct err err;
    started.incarnation = 1; /* set by the program at its start */
    if (node_config_check(&started, &err))
        return;
    char *colon = strstr(err.text, ": ");
    if (colon != NULL)
        *colon = '\0';
    conf_fault(reader, colon != NULL ? err.text : "", "%s", colon != NULL ? colon + 2 : err.text);
}

static bool read_node(const char *path, const char *text, const char *name, bool keys_ignored,
                      struct app_config *config, struct conf_settings *settings, struct conf_errors *errors)
{
    struct conf_reader reader;
    if (!conf_load(&reader, path, text, errors))
        return false;
    struct node_file *file = calloc(1, sizeof(*file));
    CHECK(file != NULL);
    reader.context = file;
    file->keys_ignored = keys_ignored;
    bool is_map = conf_read_document(&reader, node_file_options, file);
    if (is_map) {
        read_ports(&reader, file);
        read_buffer(&reader, file);
        node_file_name(&reader, file, name);
        node_file_take_roster(&reader, file);
    }
    complete(file);
    if (is_map)
        node_file_check(&reader, file);
    if (errors->count == 0)
        check_by_node(&reader, &file->config.node);
    if (errors->count == 0 && settings != NULL)
        settings_take(&reader, node_file_options, settings);
    conf_unload(&reader);
    *config = file->config;
    config->node.incarnation = 0;
    if (!name_copy(config->source_path, sizeof(config->source_path), path))
        config->source_path[0] = '\0';
    free(file);
    return errors->count == 0;
}

bool conf_read_node(const char *path, const char *text, const char *name, struct app_config *config,
                    struct conf_errors *errors)
{
    return read_node(path, text, name, false, config, NULL, errors);
}

bool conf_read_node_settings(const char *path, const char *text, const char *name, struct app_config *config,
                             struct conf_settings *settings, struct conf_errors *errors)
{
    return read_node(path, text, name, false, config, settings, errors);
}

bool conf_read_identity(const char *path, const char *name, struct app_config *config,
                        struct conf_errors *errors)
{
    return read_node(path, NULL, name, true, config, NULL, errors);
}
