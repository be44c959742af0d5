// Headers of Ethernet frames (IEEE 802.3, 802.1Q), of ARP (RFC 826), and of pauses (802.3, 31B).
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
#define ETHERTYPE_GRID 0x7fff
#define ETHERTYPE_TRAIL 0x1000
#define ETHERTYPE_8021Q 0x8100
#define ETHERTYPE_IP6 0x86dd
#define ETHERTYPE_MACCONTROL 0x8808

struct click_arp {
    uint16_t ar_hrd;
    uint16_t ar_pro;
    uint8_t ar_hln;
    uint8_t ar_pln;
    uint16_t ar_op;
} __attribute__((packed, aligned(2)));

struct click_ether_arp {
    struct click_arp ea_hdr;
    uint8_t arp_sha[6];
    uint8_t arp_spa[4];
    uint8_t arp_tha[6];
    uint8_t arp_tpa[4];
} __attribute__((packed, aligned(2)));

#define ARPHRD_ETHER 1
#define ARPHRD_80211 801
#define ARPOP_REQUEST 1
#define ARPOP_REPLY 2
#define ARPOP_REVREQUEST 3
#define ARPOP_REVREPLY 4
#define ARPOP_INVREQUEST 8
#define ARPOP_INVREPLY 9

struct click_ether_macctl {
    uint16_t ether_macctl_opcode;
    uint16_t ether_macctl_param;
    uint8_t ether_macctl_reserved[42];
} __attribute__((packed, aligned(2)));

#define ETHER_MACCTL_OP_PAUSE 1
#endif
