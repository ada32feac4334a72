/* Frames around datagrams. IPv4 packets are atomic (RFC 6864): identification 0, "don't fragment". The
 * template's IPv4 checksum field holds the plain sum of the header's fixed words; a packet adds its own. */
#include "wire/ethernet.h"

#include "base/check.h"

#define UDP_BYTES       8
#define HEADER_FRAGMENT 44 /* IPv6 next header */
#define HOP_LIMIT       64
#define TEMPLATE_MIN    (2 * MAC_BYTES + 2 + IPV4_BYTES + UDP_BYTES)

#define IPV4_LENGTH   2
#define IPV4_FRAGMENT 6
#define IPV4_PROTOCOL 9
#define IPV4_CHECKSUM 10
#define IPV4_SOURCE   12
#define IPV4_TARGET   16
#define IPV6_LENGTH   4
#define IPV6_NEXT     6
#define IPV6_SOURCE   8
#define IPV6_TARGET   24
#define UDP_LENGTH    4
#define UDP_CHECKSUM  6

#define WORDS_FEW 20

#define DONT_FRAGMENT  0x4000
#define MORE_OR_OFFSET 0x3fff

/* 25 ns instead of 65 for 1472 bytes with AVX2, chosen at run time; the sanitizers don't get along with
 * ifuncs. */
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) &&                          \
    !defined(__SANITIZE_THREAD__)
#define VECTORISED __attribute__((target_clones("avx512f", "avx2", "default"), optimize("O3")))
#else
#define VECTORISED
#endif

static inline uint64_t sum_few(const uint8_t *data, size_t count)
{
    uint64_t sum = 0;
    for (size_t index = 0; index < count; index++) {
        uint32_t word;
        memcpy(&word, data + index * sizeof(word), sizeof(word));
        sum += word;
    }
    return sum;
}

VECTORISED static uint64_t sum_words(const uint8_t *data, size_t count)
{
    return sum_few(data, count);
}

/* Native-order sum of all 16-bit words, 32 bits at a time into 64. Cannot overflow below 2^34 bytes. */
static uint64_t native_sum(const uint8_t *data, size_t length)
{
    size_t words = length / 4; /* headers are not worth the call */
    uint64_t sum = words <= WORDS_FEW ? sum_few(data, words) : sum_words(data, words);
    data += length / 4 * 4;
    if ((length & 2) != 0) {
        uint16_t word;
        memcpy(&word, data, sizeof(word));
        sum += word;
        data += sizeof(word);
    }
    /* No conditional expression: gcc 14.2 makes of one a load that is always done, behind the end of the data. */
    if ((length & 1) != 0)
        sum += data[0];
    return sum;
}

static uint16_t fold64(uint64_t sum)
{
    sum = (sum & UINT32_MAX) + (sum >> 32);
    sum = (sum & UINT32_MAX) + (sum >> 32);
    sum = (sum & UINT16_MAX) + (sum >> 16);
    sum = (sum & UINT16_MAX) + (sum >> 16);
    return (uint16_t)sum;
}

/* The ones' complement sum does not depend on byte order (RFC 1071, 2 B): it is swapped once, at the end. */
uint32_t checksum_add(uint32_t sum, const uint8_t *data, size_t length)
{
    uint64_t total = (uint64_t)sum + __builtin_bswap16(fold64(native_sum(data, length)));
    return (uint32_t)(total + (total >> 32));
}

uint16_t checksum_fold(uint32_t sum)
{
    return (uint16_t)~fold64(sum);
}

/* Of zero's two forms the one that is not 0. */
static uint16_t sum_known(uint32_t sum)
{
    uint16_t folded = fold64(sum);
    return folded != 0 ? folded : UINT16_MAX;
}

uint16_t checksum_of(const uint8_t *data, size_t length)
{
    return sum_known(checksum_add(0, data, length));
}

uint16_t checksum_without(uint16_t whole, const uint8_t *first, size_t length)
{
    if (whole == 0)
        return 0;
    return sum_known(whole + (uint32_t)checksum_fold(checksum_add(0, first, length)));
}

/* The plain sum of an IPv4 header without options, folded: 0xffff when its checksum is right. */
static uint16_t ipv4_sum(const uint8_t *ip)
{
    uint32_t words[IPV4_BYTES / 4];
    memcpy(words, ip, sizeof(words));
    return fold64((uint64_t)words[0] + words[1] + words[2] + words[3] + words[4]);
}

/* Addresses and protocol: what the UDP checksum covers beside datagram and length. */
static uint32_t pseudo_sum(const uint8_t *ip, uint8_t family)
{
    if (family == ADDRESS_IPV4)
        return checksum_add(PROTOCOL_UDP, ip + IPV4_SOURCE, 8);
    return checksum_add(PROTOCOL_UDP, ip + IPV6_SOURCE, 32);
}

static void ipv4_init(uint8_t *ip, const struct net_address *source, const struct net_address *target)
{
    ip[0] = 0x45;
    store_be16(ip + IPV4_FRAGMENT, DONT_FRAGMENT);
    ip[8] = HOP_LIMIT;
    ip[IPV4_PROTOCOL] = PROTOCOL_UDP;
    memcpy(ip + IPV4_SOURCE, source->ip, 4);
    memcpy(ip + IPV4_TARGET, target->ip, 4);
    store_be16(ip + IPV4_CHECKSUM, __builtin_bswap16(ipv4_sum(ip)));
}

static void ipv6_init(uint8_t *ip, const struct net_address *source, const struct net_address *target)
{
    ip[0] = 0x60;
    ip[IPV6_NEXT] = PROTOCOL_UDP;
    ip[7] = HOP_LIMIT;
    memcpy(ip + IPV6_SOURCE, source->ip, 16);
    memcpy(ip + IPV6_TARGET, target->ip, 16);
}

void frame_header_init(struct frame_header *header, const uint8_t source_mac[MAC_BYTES],
                       const uint8_t target_mac[MAC_BYTES], uint16_t vlan, const struct net_address *source,
                       const struct net_address *target)
{
    CHECK(source->family == target->family);
    CHECK(source->family == ADDRESS_IPV4 || source->family == ADDRESS_IPV6);
    CHECK(vlan < 4096);
    *header = (struct frame_header){.family = source->family};
    bool six = source->family == ADDRESS_IPV6;
    uint8_t *out = header->bytes;
    memcpy(out, target_mac, MAC_BYTES);
    memcpy(out + MAC_BYTES, source_mac, MAC_BYTES);
    out += 2 * MAC_BYTES;
    if (vlan != 0) {
        out = wire_put_u16(out, ETHERTYPE_VLAN);
        out = wire_put_u16(out, vlan);
    }
    uint8_t *ip = wire_put_u16(out, six ? ETHERTYPE_IPV6 : ETHERTYPE_IPV4);
    if (six)
        ipv6_init(ip, source, target);
    else
        ipv4_init(ip, source, target);
    uint8_t *udp = ip + (six ? IPV6_BYTES : IPV4_BYTES);
    store_be16(udp, source->udp_port);
    store_be16(udp + 2, target->udp_port);
    header->sum = checksum_add(pseudo_sum(ip, header->family), udp, 4);
    header->ip_offset = (uint8_t)(ip - header->bytes);
    header->length = (uint8_t)(udp + UDP_BYTES - header->bytes);
}

/* Checksum of UDP header and datagram, as it is to be sent: never 0. The length counts twice: it stands in the header,
 * and the checksum covers it besides. */
static uint16_t udp_checksum(const struct frame_header *header, const struct frame_datagram *datagram,
                             uint32_t udp_bytes)
{
    uint32_t sum = checksum_add(header->sum + 2 * udp_bytes, datagram->head, datagram->head_bytes);
    uint16_t rest =
        datagram->body_sum != 0 ? datagram->body_sum : checksum_of(datagram->body, datagram->body_bytes);
    /* Behind an odd head the body's bytes have changed places within their words. */
    sum += datagram->head_bytes % 2 != 0 ? __builtin_bswap16(rest) : rest;
    uint16_t checksum = checksum_fold(sum);
    return checksum != 0 ? checksum : UINT16_MAX;
}

/* Lengths are 42 (IPv4 untagged) and 4, 20 or 24 more: copies of known size take half the time of memcpy's
 * search for the right one. */
static void template_copy(uint8_t *out, const struct frame_header *header)
{
    memcpy(out, header->bytes, TEMPLATE_MIN);
    for (size_t offset = TEMPLATE_MIN; offset < header->length; offset += 4)
        memcpy(out + offset, header->bytes + offset, 4);
}

size_t frame_header_write(uint8_t *out, const struct frame_header *header, uint8_t traffic_class,
                          const struct frame_datagram *datagram, bool checksum)
{
    uint32_t udp_bytes = UDP_BYTES + datagram->head_bytes + datagram->body_bytes;
    uint8_t *ip = out + header->ip_offset;
    uint8_t *udp = out + header->length - UDP_BYTES;
    CHECK(udp_bytes <= UINT16_MAX - IPV4_BYTES);
    template_copy(out, header);
    if (header->family == ADDRESS_IPV4) {
        uint16_t total = (uint16_t)(IPV4_BYTES + udp_bytes);
        uint32_t sum = load_be16(ip + IPV4_CHECKSUM);
        ip[1] = traffic_class;
        store_be16(ip + IPV4_LENGTH, total);
        store_be16(ip + IPV4_CHECKSUM, checksum_fold(sum + traffic_class + total));
    } else {
        store_be16(ip, (uint16_t)(0x6000 | traffic_class << 4));
        store_be16(ip + IPV6_LENGTH, (uint16_t)udp_bytes);
    }
    store_be16(udp + UDP_LENGTH, (uint16_t)udp_bytes);
    store_be16(udp + UDP_CHECKSUM, checksum ? udp_checksum(header, datagram, udp_bytes)
                                            : fold64((uint64_t)pseudo_sum(ip, header->family) + udp_bytes));
    return header->length;
}

/* `ip_payload` bytes follow the IP header, all of them within the frame. */
static enum frame_error udp_parse(const uint8_t *udp, size_t ip_payload, bool verify, struct frame_view *view)
{
    if (ip_payload < UDP_BYTES || load_be16(udp + UDP_LENGTH) != ip_payload)
        return FRAME_BAD_UDP;
    view->source.udp_port = load_be16(udp);
    view->target.udp_port = load_be16(udp + 2);
    view->payload = udp + UDP_BYTES;
    view->payload_bytes = (uint32_t)(ip_payload - UDP_BYTES);
    if (load_be16(udp + UDP_CHECKSUM) == 0)
        return view->source.family == ADDRESS_IPV4 || !verify ? FRAME_OK : FRAME_BAD_UDP;
    uint32_t sum = pseudo_sum(view->ip, view->source.family) + (uint32_t)ip_payload;
    if (verify && checksum_fold(checksum_add(sum, udp, ip_payload)) != 0) {
        view->unsummed = load_be16(udp + UDP_CHECKSUM) == fold64(sum);
        return FRAME_BAD_UDP;
    }
    /* All together are zero: the datagram's sum is that of what stands before it, the other way round. */
    view->payload_sum = sum_known(checksum_fold(checksum_add(sum, udp, UDP_BYTES)));
    return FRAME_OK;
}

static enum frame_error ipv4_parse(const uint8_t *ip, size_t length, bool verify, struct frame_view *view)
{
    if (length < IPV4_BYTES)
        return FRAME_TOO_SHORT;
    view->ip = ip;
    size_t total = load_be16(ip + IPV4_LENGTH);
    if (ip[0] != 0x45 || total < IPV4_BYTES || total > length || ipv4_sum(ip) != UINT16_MAX)
        return FRAME_BAD_IP;
    view->traffic_class = ip[1];
    view->source.family = ADDRESS_IPV4;
    view->target.family = ADDRESS_IPV4;
    memcpy(view->source.ip, ip + IPV4_SOURCE, 4);
    memcpy(view->target.ip, ip + IPV4_TARGET, 4);
    if ((load_be16(ip + IPV4_FRAGMENT) & MORE_OR_OFFSET) != 0)
        return FRAME_FRAGMENT;
    if (ip[IPV4_PROTOCOL] != PROTOCOL_UDP)
        return FRAME_NOT_UDP;
    return udp_parse(ip + IPV4_BYTES, total - IPV4_BYTES, verify, view);
}

static enum frame_error ipv6_parse(const uint8_t *ip, size_t length, bool verify, struct frame_view *view)
{
    if (length < IPV6_BYTES)
        return FRAME_TOO_SHORT;
    view->ip = ip;
    size_t payload = load_be16(ip + IPV6_LENGTH);
    if (ip[0] >> 4 != 6 || payload > length - IPV6_BYTES)
        return FRAME_BAD_IP;
    view->traffic_class = (uint8_t)(load_be16(ip) >> 4);
    view->source.family = ADDRESS_IPV6;
    view->target.family = ADDRESS_IPV6;
    memcpy(view->source.ip, ip + IPV6_SOURCE, 16);
    memcpy(view->target.ip, ip + IPV6_TARGET, 16);
    if (ip[IPV6_NEXT] == HEADER_FRAGMENT)
        return FRAME_FRAGMENT;
    if (ip[IPV6_NEXT] != PROTOCOL_UDP)
        return FRAME_NOT_UDP;
    return udp_parse(ip + IPV6_BYTES, payload, verify, view);
}

enum frame_error frame_parse(const uint8_t *frame, size_t length, bool verify, struct frame_view *view)
{
    *view = (struct frame_view){0};
    size_t offset = 2 * MAC_BYTES + 2;
    if (length < offset)
        return FRAME_TOO_SHORT;
    view->ethertype = load_be16(frame + offset - 2);
    if (view->ethertype == ETHERTYPE_VLAN) {
        offset += 4;
        if (length < offset)
            return FRAME_TOO_SHORT;
        view->vlan = load_be16(frame + offset - 4) & 0xfff;
        view->ethertype = load_be16(frame + offset - 2);
    }
    if (view->ethertype == ETHERTYPE_IPV4)
        return ipv4_parse(frame + offset, length - offset, verify, view);
    if (view->ethertype == ETHERTYPE_IPV6)
        return ipv6_parse(frame + offset, length - offset, verify, view);
    return FRAME_NOT_IP;
}
