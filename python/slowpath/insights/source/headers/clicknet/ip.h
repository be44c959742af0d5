// The header of IPv4 (RFC 791), and its options.
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
#define IPTOS_LOWDELAY 0x10
#define IPTOS_THROUGHPUT 0x08
#define IPTOS_RELIABILITY 0x04
#define IP_PROTO_ICMP 1
#define IP_PROTO_IGMP 2
#define IP_PROTO_GGP 3
#define IP_PROTO_IPIP 4
#define IP_PROTO_ST 5
#define IP_PROTO_TCP 6
#define IP_PROTO_EGP 8
#define IP_PROTO_UDP 17
#define IP_PROTO_DCCP 33
#define IP_PROTO_IP6 41
#define IP_PROTO_GRE 47
#define IP_PROTO_ESP 50
#define IP_PROTO_AH 51
#define IP_PROTO_ICMP6 58
#define IP_PROTO_SCTP 132
#define IP_PROTO_UDPLITE 136
// Several records, or none.
#define IP_PROTO_NONE 256
#define IP_PROTO_TCP_OR_UDP 256
#define IP_PROTO_TRANSP 257
#define IP_PROTO_PAYLOAD 258

#define IPOPT_EOL 0
#define IPOPT_NOP 1
#define IPOPT_RR 7
#define IPOPT_TS 68
#define IPOPT_LSRR 131
#define IPOPT_SSRR 137
#define IPOPT_RA 148
#endif
