/* Lengths of a packet's headers. */
#ifndef SLOWPATH_DPDK_NET_H
#define SLOWPATH_DPDK_NET_H
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_tcp.h>
#include <rte_udp.h>
struct rte_net_hdr_lens {
	uint8_t l2_len, inner_l2_len;
	uint16_t l3_len, inner_l3_len, tunnel_len;
	uint8_t l4_len, inner_l4_len;
};
#endif
