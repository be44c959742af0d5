// Headers of Ethernet frames (IEEE 802.3, 802.1Q).
#ifndef SLOWPATH_CLICKNET_ETHER_H
#define SLOWPATH_CLICKNET_ETHER_H
#include <stdint.h>

struct click_ether {
    uint8_t ether_dhost[6];
    uint8_t ether_shost[6];
    uint16_t ether_type;
} __attribute__((packed));

struct click_ether_vlan {
    uint8_t ether_dhost[6];
    uint8_t ether_shost[6];
    uint16_t ether_vlan_proto;
    uint16_t ether_vlan_tci;
    uint16_t ether_vlan_encap_proto;
} __attribute__((packed));

#define ETHERTYPE_IP 0x0800
#define ETHERTYPE_ARP 0x0806
#define ETHERTYPE_8021Q 0x8100
#define ETHERTYPE_IP6 0x86dd
#endif
