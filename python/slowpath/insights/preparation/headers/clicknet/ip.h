// The header of IPv4 (RFC 791).
#ifndef SLOWPATH_CLICKNET_IP_H
#define SLOWPATH_CLICKNET_IP_H
#include <netinet/in.h>
#include <stdint.h>

struct click_ip {
    unsigned ip_hl : 4;
    unsigned ip_v : 4;
    uint8_t ip_tos;
    uint16_t ip_len;
    uint16_t ip_id;
    uint16_t ip_off;
    uint8_t ip_ttl;
    uint8_t ip_p;
    uint16_t ip_sum;
    struct in_addr ip_src;
    struct in_addr ip_dst;
} __attribute__((packed, aligned(2)));

#define IP_DSCPMASK 0xfc
#define IP_ECNMASK 0x03
#define IP_ECN_NOT_ECT 0x00
#define IP_ECN_ECT1 0x01
#define IP_ECN_ECT2 0x02
#define IP_ECN_CE 0x03
#define IP_RF 0x8000
#define IP_DF 0x4000
#define IP_MF 0x2000
#define IP_OFFMASK 0x1fff
#define IP_ISFRAG(ip) (((ip)->ip_off & htons(IP_MF | IP_OFFMASK)) != 0)
#define IP_FIRSTFRAG(ip) (((ip)->ip_off & htons(IP_OFFMASK)) == 0)
#define IP_PROTO_ICMP 1
#define IP_PROTO_TCP 6
#define IP_PROTO_UDP 17
#define IP_PROTO_TCP_OR_UDP 256
#endif
