/* GRE. */
#ifndef SLOWPATH_DPDK_GRE_H
#define SLOWPATH_DPDK_GRE_H
#include <rte_byteorder.h>
struct rte_gre_hdr {
	uint16_t res2 : 4;
	uint16_t s : 1;
	uint16_t k : 1;
	uint16_t res3 : 1;
	uint16_t c : 1;
	uint16_t ver : 3;
	uint16_t res1 : 5;
	rte_be16_t proto;
} __rte_packed;
#endif
