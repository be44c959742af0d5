/* ICMP. */
#ifndef SLOWPATH_DPDK_ICMP_H
#define SLOWPATH_DPDK_ICMP_H
#include <rte_byteorder.h>
struct rte_icmp_hdr {
	uint8_t icmp_type;
	uint8_t icmp_code;
	rte_be16_t icmp_cksum;
	rte_be16_t icmp_ident;
	rte_be16_t icmp_seq_nb;
} __rte_packed;
#define RTE_IP_ICMP_ECHO_REPLY 0
#define RTE_IP_ICMP_ECHO_REQUEST 8
#endif
