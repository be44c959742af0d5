/* ARP for IPv4 over Ethernet. */
#ifndef SLOWPATH_DPDK_ARP_H
#define SLOWPATH_DPDK_ARP_H
#include <rte_ether.h>
struct rte_arp_ipv4 {
	struct rte_ether_addr arp_sha;
	rte_be32_t arp_sip;
	struct rte_ether_addr arp_tha;
	rte_be32_t arp_tip;
} __rte_packed;
struct rte_arp_hdr {
	rte_be16_t arp_hardware;
	rte_be16_t arp_protocol;
	uint8_t arp_hlen;
	uint8_t arp_plen;
	rte_be16_t arp_opcode;
	struct rte_arp_ipv4 arp_data;
} __rte_packed;
#define RTE_ARP_HRD_ETHER 1
#define RTE_ARP_OP_REQUEST 1
#define RTE_ARP_OP_REPLY 2
#endif
