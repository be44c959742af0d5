/* Ethernet. */
#ifndef SLOWPATH_DPDK_ETHER_H
#define SLOWPATH_DPDK_ETHER_H
#include <rte_byteorder.h>
#include <rte_mbuf.h>
#include <rte_random.h>
#define RTE_ETHER_ADDR_LEN 6
#define RTE_ETHER_TYPE_LEN 2
#define RTE_ETHER_CRC_LEN 4
#define RTE_ETHER_HDR_LEN 14
#define RTE_ETHER_MIN_LEN 64
#define RTE_ETHER_MAX_LEN 1518
#define RTE_ETHER_MTU 1500
#define RTE_ETHER_LOCAL_ADMIN_ADDR 0x02
#define RTE_ETHER_GROUP_ADDR 0x01
#define RTE_ETHER_MAX_JUMBO_FRAME_LEN 0x3F00
#define RTE_ETHER_MAX_VLAN_FRAME_LEN 1522
#define RTE_ETHER_MAX_VLAN_ID 4095
#define RTE_ETHER_MIN_MTU 68
#define RTE_ETHER_ADDR_FMT_SIZE 18
#define RTE_ETHER_ADDR_PRT_FMT "%02X:%02X:%02X:%02X:%02X:%02X"
#define RTE_ETHER_ADDR_BYTES(at) \
	(at)->addr_bytes[0], (at)->addr_bytes[1], (at)->addr_bytes[2], (at)->addr_bytes[3], (at)->addr_bytes[4], \
		(at)->addr_bytes[5]
#define RTE_ETHER_TYPE_IPV4 0x0800
#define RTE_ETHER_TYPE_IPV6 0x86DD
#define RTE_ETHER_TYPE_ARP 0x0806
#define RTE_ETHER_TYPE_VLAN 0x8100
#define RTE_ETHER_TYPE_QINQ 0x88A8
#define RTE_ETHER_TYPE_MPLS 0x8847
#define RTE_ETHER_TYPE_MPLSM 0x8848
#define RTE_ETHER_TYPE_TEB 0x6558
#define RTE_ETHER_TYPE_RARP 0x8035
#define RTE_ETHER_TYPE_1588 0x88F7
#define RTE_ETHER_TYPE_LLDP 0x88CC
#define RTE_ETHER_TYPE_SLOW 0x8809
#define RTE_ETHER_TYPE_PPPOE_DISCOVERY 0x8863
#define RTE_ETHER_TYPE_PPPOE_SESSION 0x8864
#define RTE_ETHER_TYPE_ETAG 0x893F
#define RTE_ETHER_TYPE_QINQ1 0x9100
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
SLOWPATH_INLINE int rte_is_local_admin_ether_addr(const struct rte_ether_addr *one)
{
	return (one->addr_bytes[0] & RTE_ETHER_LOCAL_ADMIN_ADDR) != 0;
}
SLOWPATH_INLINE int rte_is_universal_ether_addr(const struct rte_ether_addr *one)
{
	return (one->addr_bytes[0] & RTE_ETHER_LOCAL_ADMIN_ADDR) == 0;
}
SLOWPATH_INLINE int rte_is_valid_assigned_ether_addr(const struct rte_ether_addr *one)
{
	return rte_is_unicast_ether_addr(one) && !rte_is_zero_ether_addr(one);
}
SLOWPATH_INLINE void rte_eth_random_addr(uint8_t *address)
{
	uint64_t drawn = rte_rand();

	memcpy(address, &drawn, RTE_ETHER_ADDR_LEN);
	address[0] = (uint8_t)((address[0] & ~RTE_ETHER_GROUP_ADDR) | RTE_ETHER_LOCAL_ADMIN_ADDR);
}

/* Moves the VLAN tag from the packet to `vlan_tci`; returns -1 if there is none. */
SLOWPATH_INLINE int rte_vlan_strip(struct rte_mbuf *m)
{
	struct rte_ether_hdr *ether = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_vlan_hdr *tag = (struct rte_vlan_hdr *)(ether + 1);

	if (ether->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN))
		return -1;
	m->ol_flags |= RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED;
	m->vlan_tci = rte_be_to_cpu_16(tag->vlan_tci);
	memmove(rte_pktmbuf_adj(m, sizeof(*tag)), ether, 2 * RTE_ETHER_ADDR_LEN);
	return 0;
}
/* Moves `vlan_tci` into the packet; shared packets are not changed. */
SLOWPATH_INLINE int rte_vlan_insert(struct rte_mbuf **m)
{
	struct rte_ether_hdr *from, *to;
	struct rte_vlan_hdr *tag;

	if (rte_mbuf_refcnt_read(*m) > 1)
		return -EINVAL;
	if (rte_pktmbuf_data_len(*m) < 2 * RTE_ETHER_ADDR_LEN)
		return -EINVAL;
	from = rte_pktmbuf_mtod(*m, struct rte_ether_hdr *);
	to = (struct rte_ether_hdr *)rte_pktmbuf_prepend(*m, sizeof(struct rte_vlan_hdr));
	if (!to)
		return -ENOSPC;
	memmove(to, from, 2 * RTE_ETHER_ADDR_LEN);
	to->ether_type = rte_cpu_to_be_16(RTE_ETHER_TYPE_VLAN);
	tag = (struct rte_vlan_hdr *)(to + 1);
	tag->vlan_tci = rte_cpu_to_be_16((*m)->vlan_tci);
	if ((*m)->ol_flags & RTE_MBUF_F_TX_TUNNEL_MASK)
		(*m)->outer_l2_len += sizeof(struct rte_vlan_hdr);
	else
		(*m)->l2_len += sizeof(struct rte_vlan_hdr);
	(*m)->ol_flags &= ~(RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_TX_VLAN);
	return 0;
}
SLOWPATH_C void rte_ether_format_addr(char *text, uint16_t size, const struct rte_ether_addr *address);
SLOWPATH_C int rte_ether_unformat_addr(const char *text, struct rte_ether_addr *address);
#endif
