/* VXLAN. */
#ifndef SLOWPATH_DPDK_VXLAN_H
#define SLOWPATH_DPDK_VXLAN_H
#include <rte_ether.h>
#include <rte_udp.h>
#define RTE_VXLAN_DEFAULT_PORT 4789
struct rte_vxlan_hdr {
	rte_be32_t vx_flags;
	rte_be32_t vx_vni;
} __rte_packed;
#define RTE_ETHER_VXLAN_HLEN (sizeof(struct rte_udp_hdr) + sizeof(struct rte_vxlan_hdr))
#endif
