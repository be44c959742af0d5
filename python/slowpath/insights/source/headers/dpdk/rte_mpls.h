/* MPLS. */
#ifndef SLOWPATH_DPDK_MPLS_H
#define SLOWPATH_DPDK_MPLS_H
#include <rte_byteorder.h>
struct rte_mpls_hdr {
	rte_be16_t tag_msb;
	uint8_t bs : 1;
	uint8_t tc : 3;
	uint8_t tag_lsb : 4;
	uint8_t ttl;
} __rte_packed;
#endif
