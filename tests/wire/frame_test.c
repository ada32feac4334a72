/* Frames: golden vectors, checksums in any split, every truncation, and each refusal by its code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "golden.h"
#include "roundtrip.h"
#include "base/rng.h"

#define GOLDEN_MAX 48

static struct golden vectors[GOLDEN_MAX];
static unsigned vector_count;

static const struct golden *vector(const char *name)
{
    for (unsigned index = 0; index < vector_count; index++)
        if (strcmp(vectors[index].name, name) == 0)
            return &vectors[index];
    fail_msg("no vector %s", name);
    return NULL;
}

static const uint8_t mac_one[MAC_BYTES] = {2, 0, 0, 0, 0, 1};
static const uint8_t mac_two[MAC_BYTES] = {2, 0, 0, 0, 0, 2};

static struct net_address endpoint(const char *ip, uint16_t udp_port)
{
    struct net_address address = {.udp_port = udp_port};
    assert_true(address_parse(ip, &address));
    return address;
}

/* What a device does that was asked for the checksum: the sum from the UDP header on, over what stands in its place. */
static void device_finishes(uint8_t *udp, const struct golden *payload)
{
    uint32_t sum = checksum_add(checksum_add(0, udp, 8), payload->bytes, payload->length);
    uint16_t checksum = checksum_fold(sum);
    store_be16(udp + 6, checksum != 0 ? checksum : UINT16_MAX);
}

static void header_write__golden(void **state)
{
    static const struct {
        const char *name, *source, *target, *payload;
        uint16_t vlan;
    } rows[] = {
        {"frame-ipv4", "10.1.2.3", "10.1.2.4", "data", 0},
        {"frame-ipv4-vlan", "10.1.2.3", "10.1.2.4", "close", 0xabc},
        {"frame-ipv6", "fd00::1", "fd00::2", "data", 0},
        {"frame-ipv6-vlan", "fd00::1", "fd00::2", "close", 1},
    };
    (void)state;
    for (unsigned index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        const struct golden *golden = vector(rows[index].name);
        const struct golden *payload = vector(rows[index].payload);
        struct net_address source = endpoint(rows[index].source, 7840);
        struct net_address target = endpoint(rows[index].target, 7841);
        struct frame_header header;
        frame_header_init(&header, mac_one, mac_two, rows[index].vlan, &source, &target);
        for (size_t head = 0; head <= payload->length; head++) {
            uint8_t out[GOLDEN_BYTES_MAX] = {0};
            const uint8_t *body = payload->bytes + head;
            struct frame_datagram datagram = {.head = payload->bytes,
                                              .body = body,
                                              .head_bytes = (uint32_t)head,
                                              .body_bytes = (uint32_t)(payload->length - head)};
            for (int known = 0; known < 3;
                 known++) { /* the body's sum isn't, is, and the device computes it */
                size_t start = frame_header_write(out, &header, 0xb9, &datagram, known < 2);
                if (known == 2)
                    device_finishes(out + start - 8, payload);
                assert_int_equal(start, header.length);
                assert_int_equal(start + payload->length, golden->length);
                assert_memory_equal(out, golden->bytes, start);
                assert_int_equal(out[start], 0);
                datagram.body_sum = checksum_of(body, datagram.body_bytes);
                datagram.body = NULL; /* not read any more */
            }
        }
    }
}

static void parse__golden(void **state)
{
    (void)state;
    for (unsigned index = 0; index < vector_count; index++) {
        const struct golden *golden = &vectors[index];
        if (!golden_is_frame(golden))
            continue;
        struct frame_view view;
        bool six = strstr(golden->name, "ipv6") != NULL;
        bool tagged = strstr(golden->name, "vlan") != NULL;
        struct net_address source = endpoint(six ? "fd00::1" : "10.1.2.3", 7840);
        struct net_address target = endpoint(six ? "fd00::2" : "10.1.2.4", 7841);
        assert_int_equal(roundtrip_frame(golden->bytes, golden->length), FRAME_OK);
        assert_int_equal(frame_parse(golden->bytes, golden->length, true, &view), FRAME_OK);
        assert_true(address_equal(&view.source, &source));
        assert_true(address_equal(&view.target, &target));
        assert_int_equal(view.vlan, tagged ? (six ? 1 : 0xabc) : 0);
        assert_int_equal(view.ethertype, six ? ETHERTYPE_IPV6 : ETHERTYPE_IPV4);
        assert_int_equal(view.traffic_class, 0xb9);
        assert_ptr_equal(view.ip, golden->bytes + (tagged ? 18 : 14));
        assert_ptr_equal(view.payload + view.payload_bytes, golden->bytes + golden->length);
        bool unchecked = strstr(golden->name, "unchecked") != NULL;
        assert_int_equal(view.payload_sum, unchecked ? 0 : checksum_of(view.payload, view.payload_bytes));
        assert_int_equal(frame_parse(golden->bytes, golden->length, false, &view), FRAME_OK);
        assert_int_equal(view.payload_sum, unchecked ? 0 : checksum_of(view.payload, view.payload_bytes));
        assert_int_equal(roundtrip_datagram(view.payload, view.payload_bytes), WIRE_OK);
    }
}

static void checksum_without__what_follows(void **state)
{
    (void)state;
    uint8_t data[64];
    for (unsigned round = 0; round < 1000; round++) {
        size_t length = 2 + round % (sizeof(data) - 1);
        for (size_t at = 0; at < length; at++) /* many zeros and ones, where the two forms of zero meet */
            data[at] = round % 3 == 0 ? 0 : round % 3 == 1 ? 0xff : (uint8_t)(round * 31 + at * 7);
        length = length > sizeof(data) ? sizeof(data) : length;
        uint16_t whole = checksum_of(data, length);
        assert_int_not_equal(whole, 0);
        for (size_t first = 0; first <= length; first += 2)
            assert_int_equal(checksum_without(whole, data, first) % UINT16_MAX,
                             checksum_of(data + first, length - first) % UINT16_MAX);
    }
    assert_int_equal(checksum_without(0, data, 8), 0);
}

static void parse__every_truncation(void **state)
{
    (void)state;
    for (unsigned index = 0; index < vector_count; index++) {
        const struct golden *golden = &vectors[index];
        if (!golden_is_frame(golden))
            continue;
        for (size_t length = 0; length < golden->length; length++) {
            uint8_t *copy = malloc(length + 1);
            memcpy(copy + 1, golden->bytes, length);
            enum frame_error error = roundtrip_frame(copy + 1, length);
            assert_true(error == FRAME_TOO_SHORT || error == FRAME_BAD_IP);
            free(copy);
        }
    }
}

/* Short frames are padded to 60 bytes by the sender's device, and some devices leave the FCS on. */
static void parse__padding_is_not_payload(void **state)
{
    (void)state;
    for (unsigned index = 0; index < vector_count; index++) {
        struct golden golden = vectors[index];
        if (!golden_is_frame(&golden))
            continue;
        struct frame_view view;
        memset(golden.bytes + golden.length, 0x5a, 46);
        assert_int_equal(frame_parse(golden.bytes, golden.length + 46, true, &view), FRAME_OK);
        assert_ptr_equal(view.payload + view.payload_bytes, golden.bytes + golden.length);
    }
}

/* Sets the IPv4 header's checksum right after a change. */
static void ipv4_seal(uint8_t *ip)
{
    store_be16(ip + 10, 0);
    store_be16(ip + 10, checksum_fold(checksum_add(0, ip, 20)));
}

/* `sealed`: the IP header's checksum is made right again, so that the field itself is what is refused. */
static void parse__refusals(void **state)
{
    static const struct {
        const char *vector;
        uint16_t offset;
        uint8_t value;
        bool sealed;
        enum frame_error expected;
    } rows[] = {
        {"frame-ipv4", 13, 0x06, false, FRAME_NOT_IP},      /* ARP */
        {"frame-ipv4", 12, 0x88, false, FRAME_NOT_IP},      /* LLDP and others */
        {"frame-ipv4-vlan", 16, 0x81, false, FRAME_NOT_IP}, /* a second tag */
        {"frame-ipv4", 14, 0x65, true, FRAME_BAD_IP},       /* version */
        {"frame-ipv4", 14, 0x46, true, FRAME_BAD_IP},       /* options */
        {"frame-ipv4", 14, 0x44, true, FRAME_BAD_IP},
        {"frame-ipv4", 22, 63, false, FRAME_BAD_IP}, /* a hop that forgot the checksum */
        {"frame-ipv4", 22, 63, true, FRAME_OK},
        {"frame-ipv4", 16, 0x01, true, FRAME_BAD_IP}, /* longer than the frame */
        {"frame-ipv4", 17, 19, true, FRAME_BAD_IP},   /* shorter than its header */
        {"frame-ipv4", 17, 27, true, FRAME_BAD_UDP},  /* no room for UDP */
        {"frame-ipv4", 17, 28, true, FRAME_BAD_UDP},
        {"frame-ipv4", 20, 0x20, true, FRAME_FRAGMENT}, /* more fragments */
        {"frame-ipv4", 21, 0x01, true, FRAME_FRAGMENT}, /* offset */
        {"frame-ipv4", 20, 0x00, true, FRAME_OK},       /* may be fragmented, is not */
        {"frame-ipv4", 23, 1, true, FRAME_NOT_UDP},     /* ICMP */
        {"frame-ipv4", 23, 6, true, FRAME_NOT_UDP},     /* TCP */
        {"frame-ipv4", 39, 0x4f, false, FRAME_BAD_UDP}, /* UDP length over */
        {"frame-ipv4", 39, 0x4d, false, FRAME_BAD_UDP}, /* and under */
        {"frame-ipv4", 39, 7, false, FRAME_BAD_UDP},
        {"frame-ipv4", 60, 0xee, false, FRAME_BAD_UDP},           /* checksum */
        {"frame-ipv4-unchecked", 39, 0x32, false, FRAME_BAD_UDP}, /* UDP length alone, no checksum to tell */
        {"frame-ipv4-unchecked", 39, 0x30, false, FRAME_BAD_UDP},
        {"frame-ipv4-unchecked", 39, 7, false, FRAME_BAD_UDP},
        {"frame-ipv4-unchecked", 60, 0xee, false, FRAME_OK}, /* none to be wrong */
        {"frame-ipv6", 14, 0x4b, false, FRAME_BAD_IP},
        {"frame-ipv6", 18, 0x01, false, FRAME_BAD_IP}, /* longer than the frame */
        {"frame-ipv6", 19, 0, false, FRAME_BAD_UDP},
        {"frame-ipv6", 19, 7, false, FRAME_BAD_UDP},
        {"frame-ipv6", 20, 44, false, FRAME_FRAGMENT},
        {"frame-ipv6", 20, 0, false, FRAME_NOT_UDP},  /* hop-by-hop options */
        {"frame-ipv6", 20, 58, false, FRAME_NOT_UDP}, /* ICMPv6 */
        {"frame-ipv6", 59, 0x4f, false, FRAME_BAD_UDP},
        {"frame-ipv6", 37, 9, false, FRAME_BAD_UDP}, /* the checksum covers the addresses */
        {"frame-ipv6", 90, 0xee, false, FRAME_BAD_UDP},
    };
    (void)state;
    for (unsigned index = 0; index < sizeof(rows) / sizeof(rows[0]); index++) {
        struct golden golden = *vector(rows[index].vector);
        assert_int_not_equal(golden.bytes[rows[index].offset], rows[index].value);
        golden.bytes[rows[index].offset] = rows[index].value;
        if (rows[index].sealed)
            ipv4_seal(golden.bytes + 14);
        enum frame_error error = roundtrip_frame(golden.bytes, golden.length);
        if (error != rows[index].expected)
            fail_msg("%s with %u at %u: %d, expected %d", rows[index].vector, rows[index].value,
                     rows[index].offset, error, rows[index].expected);
    }
}

/* RFC 8200, 8.1: a receiver discards IPv6 packets whose UDP checksum is zero. */
static void parse__ipv6_without_checksum(void **state)
{
    struct golden golden = *vector("frame-ipv6");
    struct frame_view view;
    (void)state;
    store_be16(golden.bytes + 60, 0);
    assert_int_equal(frame_parse(golden.bytes, golden.length, true, &view), FRAME_BAD_UDP);
    assert_int_equal(frame_parse(golden.bytes, golden.length, false, &view), FRAME_OK);
}

/* The responder for ICMP and ND needs what was understood before the refusal. */
static void parse__refusal_keeps_what_was_understood(void **state)
{
    struct golden golden = *vector("frame-ipv4-vlan");
    struct frame_view view;
    (void)state;
    golden.bytes[18 + 9] = 1;
    ipv4_seal(golden.bytes + 18);
    assert_int_equal(frame_parse(golden.bytes, golden.length, true, &view), FRAME_NOT_UDP);
    struct net_address source = endpoint("10.1.2.3", 0);
    assert_true(address_equal(&view.source, &source));
    assert_int_equal(view.vlan, 0xabc);
    assert_ptr_equal(view.ip, golden.bytes + 18);
    assert_null(view.payload);
}

static void parse__priority_tag_is_untagged(void **state)
{
    struct golden golden = *vector("frame-ipv4-vlan");
    struct frame_view view;
    (void)state;
    store_be16(golden.bytes + 14, 0xe000);
    assert_int_equal(frame_parse(golden.bytes, golden.length, true, &view), FRAME_OK);
    assert_int_equal(view.vlan, 0);
}

/* The example of RFC 1071, section 3. */
static void checksum__rfc1071(void **state)
{
    static const uint8_t data[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    (void)state;
    assert_int_equal(checksum_fold(checksum_add(0, data, sizeof(data))), (uint16_t)~0xddf2);
    assert_int_equal(checksum_fold(checksum_add(checksum_add(0, data, 2), data + 2, 6)), (uint16_t)~0xddf2);
    assert_int_equal(checksum_fold(checksum_add(0, data, 3)), (uint16_t)~0xf201);
    assert_int_equal(checksum_fold(checksum_add(0, data, 0)), 0xffff);
}

static uint16_t checksum_by_words(const uint8_t *data, size_t length)
{
    uint64_t sum = 0;
    for (size_t index = 0; index < length; index++)
        sum += index % 2 == 0 ? (uint64_t)data[index] << 8 : data[index];
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static void checksum__same_as_word_by_word(void **state)
{
    static uint8_t data[9200];
    struct rng rng;
    (void)state;
    rng_init(&rng, 1);
    for (unsigned round = 0; round < 2000; round++) {
        size_t length = rng_below(&rng, round % 4 == 0 ? sizeof(data) : 100);
        bool ones = round % 5 == 0; /* all ones: most carries */
        for (size_t index = 0; index < length; index++)
            data[index] = ones ? 0xff : (uint8_t)rng_next(&rng);
        size_t split = rng_below(&rng, length + 1) & ~(size_t)1;
        uint16_t expected = checksum_by_words(data, length);
        assert_int_equal(checksum_fold(checksum_add(0, data, length)), expected);
        assert_int_equal(
            checksum_fold(checksum_add(checksum_add(0, data, split), data + split, length - split)),
            expected);
    }
}

/* A sum of zero is sent as ones, since zero means "none" (RFC 768): searched by varying two bytes. */
static void header_write__checksum_is_never_zero(void **state)
{
    struct net_address source = endpoint("10.0.0.1", 1);
    struct net_address target = endpoint("10.0.0.2", 2);
    struct frame_header header;
    unsigned ones = 0;
    (void)state;
    frame_header_init(&header, mac_one, mac_two, 0, &source, &target);
    for (unsigned value = 0; value <= UINT16_MAX; value++) {
        uint8_t out[64];
        uint8_t payload[2] = {(uint8_t)(value >> 8), (uint8_t)value};
        struct frame_datagram datagram = {.head = payload, .head_bytes = 2};
        size_t start = frame_header_write(out, &header, 0, &datagram, true);
        uint16_t checksum = load_be16(out + start - 2);
        assert_int_not_equal(checksum, 0);
        if (checksum != UINT16_MAX)
            continue;
        struct frame_view view;
        ones++;
        memcpy(out + start, payload, 2);
        assert_int_equal(frame_parse(out, start + 2, true, &view), FRAME_OK);
    }
    assert_int_equal(ones, 1);
}

/* A sender that leaves the checksum to its device, and has none, is told from one that is broken. */
static void parse__says_what_a_device_was_to_sum(void **state)
{
    struct net_address sources[] = {endpoint("10.0.0.1", 1), endpoint("fd00::1", 1)};
    struct net_address targets[] = {endpoint("10.0.0.2", 2), endpoint("fd00::2", 2)};
    const uint8_t payload[] = "what nobody summed";
    (void)state;
    for (int family = 0; family < 2; family++) {
        uint8_t out[128];
        struct frame_header header;
        struct frame_view view;
        struct frame_datagram datagram = {.head = payload, .head_bytes = sizeof(payload)};
        frame_header_init(&header, mac_one, mac_two, 0, &sources[family], &targets[family]);
        size_t start = frame_header_write(out, &header, 0, &datagram, false);
        memcpy(out + start, payload, sizeof(payload));
        assert_int_equal(frame_parse(out, start + sizeof(payload), true, &view), FRAME_BAD_UDP);
        assert_true(view.unsummed);
        out[start - 1] ^= 1;
        assert_int_equal(frame_parse(out, start + sizeof(payload), true, &view), FRAME_BAD_UDP);
        assert_false(view.unsummed);
    }
}

/* What lies behind the data is no memory. */
static void checksum__reads_nothing_behind(void **state)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(pages, MAP_FAILED);
    assert_int_equal(mprotect(pages + page, page, PROT_NONE), 0);
    memset(pages, 1, page);
    for (size_t length = 0; length < 200; length++)
        assert_int_equal(checksum_add(0, pages + page - length, length) % UINT16_MAX,
                         (length / 2 * 0x101 + (length % 2) * 0x100) % UINT16_MAX);
    assert_int_equal(checksum_add(7, NULL, 0), 7);
    munmap(pages, 2 * page);
}

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (file == NULL)
        return 1;
    while (vector_count < GOLDEN_MAX && golden_next(file, &vectors[vector_count]))
        vector_count++;
    fclose(file);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_write__golden),
        cmocka_unit_test(parse__golden),
        cmocka_unit_test(checksum_without__what_follows),
        cmocka_unit_test(parse__every_truncation),
        cmocka_unit_test(parse__padding_is_not_payload),
        cmocka_unit_test(parse__refusals),
        cmocka_unit_test(parse__ipv6_without_checksum),
        cmocka_unit_test(parse__refusal_keeps_what_was_understood),
        cmocka_unit_test(parse__priority_tag_is_untagged),
        cmocka_unit_test(checksum__rfc1071),
        cmocka_unit_test(checksum__same_as_word_by_word),
        cmocka_unit_test(checksum__reads_nothing_behind),
        cmocka_unit_test(header_write__checksum_is_never_zero),
        cmocka_unit_test(parse__says_what_a_device_was_to_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
