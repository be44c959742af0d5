/* SCTP. */
#ifndef SLOWPATH_DPDK_SCTP_H
#define SLOWPATH_DPDK_SCTP_H
#include <rte_byteorder.h>
struct rte_sctp_hdr {
	rte_be16_t src_port;
	rte_be16_t dst_port;
	rte_be32_t tag;
	rte_be32_t cksum;
} __rte_packed;
#endif
