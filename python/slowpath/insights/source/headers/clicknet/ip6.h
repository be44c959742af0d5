// The header of IPv6 (RFC 8200), its checksums, and neighbour discovery (RFC 4861).
#ifndef SLOWPATH_CLICKNET_IP6_H
#define SLOWPATH_CLICKNET_IP6_H
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>

struct click_ip6 {
    union {
        uint32_t ip6_flow;  // version, traffic class and flow label
        struct {
            unsigned ip6_priority : 4;
            unsigned ip6_v : 4;
            uint8_t ip6_flow_of[3];
        } __attribute__((packed));
    };
    uint16_t ip6_plen;
    uint8_t ip6_nxt;
    uint8_t ip6_hlim;
    struct in6_addr ip6_src;
    struct in6_addr ip6_dst;
} __attribute__((packed, aligned(2)));

#define IP6_PROTO_ICMP6 58

// Neighbour solicitations and advertisements (RFC 4861), with one option or none.
#define ND_SOL 0x87
#define ND_ADV 0x88

struct click_nd_sol {
    uint8_t type;
    uint8_t code;
    uint16_t checksum;
    uint32_t reserved;
    uint8_t nd_tpa[16];
    uint8_t option_type;
    uint8_t option_length;
    uint8_t nd_sha[6];
} __attribute__((packed, aligned(2)));

struct click_nd_adv {
    uint8_t type;
    uint8_t code;
    uint16_t checksum;
    uint8_t flags;
    uint8_t reserved[3];
    uint8_t nd_tpa[16];
    uint8_t option_type;
    uint8_t option_length;
    uint8_t nd_tha[6];
} __attribute__((packed, aligned(2)));

struct click_nd_adv2 {
    uint8_t type;
    uint8_t code;
    uint16_t checksum;
    uint8_t flags;
    uint8_t reserved[3];
    uint8_t nd_tpa[16];
} __attribute__((packed, aligned(2)));

// Adds words in network byte order to a sum in host byte order.
static inline __attribute__((unused)) uint32_t slowpath_click_words(const void *data, int length,
                                                                    uint32_t sum) {
    const uint8_t *bytes = (const uint8_t *) data;
    for (int at = 0; at < length; at++)
        sum += at & 1 ? bytes[at] : (uint32_t) bytes[at] << 8;
    return sum;
}

// Returns the checksum over pseudo header and data in host byte order, as if the checksum field
// were 0. Lengths and the field are in network byte order.
static inline __attribute__((unused)) uint16_t in6_fast_cksum(const struct in6_addr *from,
                                                              const struct in6_addr *to,
                                                              uint16_t length, uint8_t protocol,
                                                              uint16_t before, const void *data,
                                                              uint16_t data_length) {
    uint32_t sum = slowpath_click_words(from, 16, 0);
    sum = slowpath_click_words(to, 16, sum);
    sum = slowpath_click_words(&length, 2, sum) + protocol;
    sum = slowpath_click_words(data, __builtin_bswap16(data_length), sum);
    sum += (uint16_t) ~__builtin_bswap16(before);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~((sum & 0xffff) + (sum >> 16));
}

// Calls a function with the type and address of each header behind the IPv6 header (RFC 8200, 4).
// It stops after a header that is no extension, at the packet's end, or when the function returns
// false.
template <class F>
inline void ip6_follow_eh(const click_ip6 *ip, const unsigned char *end, F visit) {
    unsigned type = ip->ip6_nxt;
    unsigned char *at = (unsigned char *) (ip + 1);
    while (at + 8 <= end && visit((uint8_t) type, at)) {
        bool options = type == 0 || type == 43 || type == 60 || type == 135;
        if (!options && type != 44)
            return;
        type = at[0];
        at += options ? 8 * at[1] + 8 : 8;
    }
}
#endif
