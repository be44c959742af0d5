// The header of ICMP (RFC 792).
#ifndef SLOWPATH_CLICKNET_ICMP_H
#define SLOWPATH_CLICKNET_ICMP_H
#include <stdint.h>

struct click_icmp {
    uint8_t icmp_type;
    uint8_t icmp_code;
    uint16_t icmp_cksum;
    uint32_t padding;
} __attribute__((packed, aligned(2)));

#define ICMP_ECHOREPLY 0
#define ICMP_UNREACH 3
#define ICMP_ECHO 8
#define ICMP_TIMXCEED 11
#endif
