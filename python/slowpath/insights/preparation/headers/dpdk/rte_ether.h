/* Ethernet. */
#ifndef SLOWPATH_DPDK_ETHER_H
#define SLOWPATH_DPDK_ETHER_H
#include <rte_byteorder.h>
#define RTE_ETHER_ADDR_LEN 6
#define RTE_ETHER_TYPE_LEN 2
#define RTE_ETHER_CRC_LEN 4
#define RTE_ETHER_HDR_LEN 14
#define RTE_ETHER_MIN_LEN 64
#define RTE_ETHER_MAX_LEN 1518
#define RTE_ETHER_MTU 1500
#define RTE_ETHER_LOCAL_ADMIN_ADDR 0x02
#define RTE_ETHER_GROUP_ADDR 0x01
#define RTE_ETHER_TYPE_IPV4 0x0800
#define RTE_ETHER_TYPE_IPV6 0x86DD
#define RTE_ETHER_TYPE_ARP 0x0806
#define RTE_ETHER_TYPE_VLAN 0x8100
#define RTE_ETHER_TYPE_QINQ 0x88A8
#define RTE_ETHER_TYPE_MPLS 0x8847
#define RTE_ETHER_TYPE_TEB 0x6558
#define RTE_VLAN_HLEN 4

struct rte_ether_addr {
	uint8_t addr_bytes[RTE_ETHER_ADDR_LEN];
} __rte_aligned(2);

struct rte_ether_hdr {
	struct rte_ether_addr dst_addr;
	struct rte_ether_addr src_addr;
	rte_be16_t ether_type;
} __rte_aligned(2);

struct rte_vlan_hdr {
	rte_be16_t vlan_tci;
	rte_be16_t eth_proto;
} __rte_packed;

SLOWPATH_INLINE void rte_ether_addr_copy(const struct rte_ether_addr *from, struct rte_ether_addr *to) { *to = *from; }
SLOWPATH_INLINE int rte_is_same_ether_addr(const struct rte_ether_addr *one, const struct rte_ether_addr *other)
{
	const uint16_t *a = (const uint16_t *)one, *b = (const uint16_t *)other;

	return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2])) == 0;
}
SLOWPATH_INLINE int rte_is_zero_ether_addr(const struct rte_ether_addr *one)
{
	const uint16_t *a = (const uint16_t *)one;

	return (a[0] | a[1] | a[2]) == 0;
}
SLOWPATH_INLINE int rte_is_broadcast_ether_addr(const struct rte_ether_addr *one)
{
	const uint16_t *a = (const uint16_t *)one;

	return (a[0] & a[1] & a[2]) == 0xffff;
}
SLOWPATH_INLINE int rte_is_multicast_ether_addr(const struct rte_ether_addr *one)
{
	return one->addr_bytes[0] & RTE_ETHER_GROUP_ADDR;
}
SLOWPATH_INLINE int rte_is_unicast_ether_addr(const struct rte_ether_addr *one)
{
	return !rte_is_multicast_ether_addr(one);
}
#endif
