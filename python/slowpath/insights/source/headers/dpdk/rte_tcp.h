/* TCP. */
#ifndef SLOWPATH_DPDK_TCP_H
#define SLOWPATH_DPDK_TCP_H
#include <rte_byteorder.h>
struct rte_tcp_hdr {
	rte_be16_t src_port;
	rte_be16_t dst_port;
	rte_be32_t sent_seq;
	rte_be32_t recv_ack;
	uint8_t data_off;
	uint8_t tcp_flags;
	rte_be16_t rx_win;
	rte_be16_t cksum;
	rte_be16_t tcp_urp;
} __rte_packed;
#define RTE_TCP_CWR_FLAG 0x80
#define RTE_TCP_ECE_FLAG 0x40
#define RTE_TCP_URG_FLAG 0x20
#define RTE_TCP_ACK_FLAG 0x10
#define RTE_TCP_PSH_FLAG 0x08
#define RTE_TCP_RST_FLAG 0x04
#define RTE_TCP_SYN_FLAG 0x02
#define RTE_TCP_FIN_FLAG 0x01
#endif
