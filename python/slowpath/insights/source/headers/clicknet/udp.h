// The header of UDP (RFC 768).
#ifndef SLOWPATH_CLICKNET_UDP_H
#define SLOWPATH_CLICKNET_UDP_H
#include <stdint.h>

struct click_udp {
    uint16_t uh_sport;
    uint16_t uh_dport;
    uint16_t uh_ulen;
    uint16_t uh_sum;
} __attribute__((packed, aligned(2)));
#endif
