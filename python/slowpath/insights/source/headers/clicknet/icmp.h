// Headers of ICMP (RFC 792, RFC 1191).
#ifndef SLOWPATH_CLICKNET_ICMP_H
#define SLOWPATH_CLICKNET_ICMP_H
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

struct click_icmp {
    uint8_t icmp_type;
    uint8_t icmp_code;
    uint16_t icmp_cksum;
    uint32_t padding;
} __attribute__((packed, aligned(2)));

#define ICMP_ECHOREPLY 0
#define ICMP_UNREACH 3
#define ICMP_SOURCEQUENCH 4
#define ICMP_REDIRECT 5
#define ICMP_ECHO 8
#define ICMP_ROUTERADVERT 9
#define ICMP_ROUTERSOLICIT 10
#define ICMP_TIMXCEED 11
#define ICMP_PARAMPROB 12
#define ICMP_TSTAMP 13
#define ICMP_TSTAMPREPLY 14
#define ICMP_IREQ 15
#define ICMP_IREQREPLY 16
#define ICMP_MASKREQ 17
#define ICMP_MASKREQREPLY 18

#define ICMP_UNREACH_NET 0
#define ICMP_UNREACH_HOST 1
#define ICMP_UNREACH_PROTOCOL 2
#define ICMP_UNREACH_PORT 3
#define ICMP_UNREACH_NEEDFRAG 4
#define ICMP_UNREACH_SRCFAIL 5
#define ICMP_UNREACH_NET_UNKNOWN 6
#define ICMP_UNREACH_HOST_UNKNOWN 7
#define ICMP_UNREACH_ISOLATED 8
#define ICMP_UNREACH_NET_PROHIB 9
#define ICMP_UNREACH_HOST_PROHIB 10
#define ICMP_UNREACH_TOSNET 11
#define ICMP_UNREACH_TOSHOST 12
#define ICMP_UNREACH_FILTER_PROHIB 13
#define ICMP_UNREACH_HOST_PRECEDENCE 14
#define ICMP_UNREACH_PRECEDENCE_CUTOFF 15
#define ICMP_REDIRECT_NET 0
#define ICMP_REDIRECT_HOST 1
#define ICMP_REDIRECT_TOSNET 2
#define ICMP_REDIRECT_TOSHOST 3
#define ICMP_TIMXCEED_TRANSIT 0
#define ICMP_TIMXCEED_REASSEMBLY 1
#define ICMP_PARAMPROB_ERRATPTR 0
#define ICMP_PARAMPROB_OPTABSENT 1
#define ICMP_PARAMPROB_LENGTH 2

// Headers by type; the packet that caused an error follows the header.
struct click_icmp_sequenced {
    uint8_t icmp_type;
    uint8_t icmp_code;
    uint16_t icmp_cksum;
    uint16_t icmp_identifier;
    uint16_t icmp_sequence;
} __attribute__((packed, aligned(2)));
#define click_icmp_echo click_icmp_sequenced

struct click_icmp_paramprob {
    uint8_t icmp_type;
    uint8_t icmp_code;
    uint16_t icmp_cksum;
    uint8_t icmp_pointer;
    uint8_t padding[3];
} __attribute__((packed, aligned(2)));

struct click_icmp_redirect {
    uint8_t icmp_type;
    uint8_t icmp_code;
    uint16_t icmp_cksum;
    struct in_addr icmp_gateway;
} __attribute__((packed, aligned(2)));

struct click_icmp_needfrag {
    uint8_t icmp_type;
    uint8_t icmp_code;
    uint16_t icmp_cksum;
    uint16_t padding;
    uint16_t icmp_nextmtu;
} __attribute__((packed, aligned(2)));

struct click_icmp_tstamp {
    uint8_t icmp_type;
    uint8_t icmp_code;
    uint16_t icmp_cksum;
    uint16_t icmp_identifier;
    uint16_t icmp_sequence;
    uint32_t icmp_originate;
    uint32_t icmp_receive;
    uint32_t icmp_transmit;
} __attribute__((packed, aligned(2)));

// Returns the header length of a message type in bytes.
static inline __attribute__((unused)) size_t click_icmp_hl(uint8_t type) {
    if (type == ICMP_TSTAMP || type == ICMP_TSTAMPREPLY)
        return sizeof(struct click_icmp_tstamp);
    if (type == ICMP_MASKREQ || type == ICMP_MASKREQREPLY)
        return sizeof(struct click_icmp_sequenced) + 4;
    return sizeof(struct click_icmp);
}
#endif
