/* UDP. */
#ifndef SLOWPATH_DPDK_UDP_H
#define SLOWPATH_DPDK_UDP_H
#include <rte_byteorder.h>
struct rte_udp_hdr {
	rte_be16_t src_port;
	rte_be16_t dst_port;
	rte_be16_t dgram_len;
	rte_be16_t dgram_cksum;
} __rte_packed;
#endif
