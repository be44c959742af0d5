/* IPv6 addresses as in DPDK 24.11 and later, with functions on them (RFC 4291). If a source uses these addresses,
 * packet headers have them, too (SLOWPATH_DPDK_IPV6). Else headers have byte arrays, as in 22.11. */
#ifndef SLOWPATH_DPDK_IP6_H
#define SLOWPATH_DPDK_IP6_H
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ether.h>
#include <rte_mbuf.h>
#include <slowpath_ipv6.h>

#define RTE_IPV6_ADDR_SIZE 16
#define RTE_IPV6_MAX_DEPTH 128
#define RTE_IPV6_HDR_FL_SHIFT 0
#define RTE_IPV6_HDR_TC_SHIFT 20
#define RTE_IPV6_HDR_FL_MASK ((1u << RTE_IPV6_HDR_TC_SHIFT) - 1)
#define RTE_IPV6_HDR_TC_MASK (0xff << RTE_IPV6_HDR_TC_SHIFT)
#define RTE_IPV6_HDR_DSCP_MASK (0xfc << RTE_IPV6_HDR_TC_SHIFT)
#define RTE_IPV6_HDR_ECN_MASK (0x03 << RTE_IPV6_HDR_TC_SHIFT)
#define RTE_IPV6_HDR_ECN_CE RTE_IPV6_HDR_ECN_MASK
#define RTE_IPV6_MIN_MTU 1280

#define SLOWPATH_IPV6_WORD(word) (uint8_t)((uint16_t)(word) >> 8), (uint8_t)(word)
#define RTE_IPV6(a, b, c, d, e, f, g, h) \
	{ { SLOWPATH_IPV6_WORD(a), SLOWPATH_IPV6_WORD(b), SLOWPATH_IPV6_WORD(c), SLOWPATH_IPV6_WORD(d), \
	    SLOWPATH_IPV6_WORD(e), SLOWPATH_IPV6_WORD(f), SLOWPATH_IPV6_WORD(g), SLOWPATH_IPV6_WORD(h) } }
#define RTE_IPV6_MASK_FULL RTE_IPV6(0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff)
#define RTE_IPV6_ADDR_UNSPEC RTE_IPV6(0, 0, 0, 0, 0, 0, 0, 0)
#define RTE_IPV6_ADDR_LOOPBACK RTE_IPV6(0, 0, 0, 0, 0, 0, 0, 1)
#define RTE_IPV6_ADDR_PREFIX_V4MAPPED RTE_IPV6(0, 0, 0, 0, 0, 0xffff, 0, 0)
#define RTE_IPV6_ADDR_ALLNODES_LINK_LOCAL RTE_IPV6(0xff02, 0, 0, 0, 0, 0, 0, 1)
#define RTE_IPV6_ADDR_ALLROUTERS_LINK_LOCAL RTE_IPV6(0xff02, 0, 0, 0, 0, 0, 0, 2)
#define RTE_IPV6_ADDR_FMT "%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x"
#define RTE_IPV6_ADDR_SPLIT(ip) \
	((const uint8_t *)(ip))[0], ((const uint8_t *)(ip))[1], ((const uint8_t *)(ip))[2], ((const uint8_t *)(ip))[3], \
	((const uint8_t *)(ip))[4], ((const uint8_t *)(ip))[5], ((const uint8_t *)(ip))[6], ((const uint8_t *)(ip))[7], \
	((const uint8_t *)(ip))[8], ((const uint8_t *)(ip))[9], ((const uint8_t *)(ip))[10], ((const uint8_t *)(ip))[11], \
	((const uint8_t *)(ip))[12], ((const uint8_t *)(ip))[13], ((const uint8_t *)(ip))[14], ((const uint8_t *)(ip))[15]

SLOWPATH_INLINE bool rte_ipv6_addr_eq(const struct rte_ipv6_addr *a, const struct rte_ipv6_addr *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}
/* Returns the mask for byte `byte` of an address with a prefix of `depth` bits. */
SLOWPATH_INLINE uint8_t slowpath_ipv6_bits(unsigned depth, unsigned byte)
{
	unsigned before = byte * 8;

	return depth >= before + 8 ? 0xff : depth <= before ? 0 : (uint8_t)(0xff00 >> (depth - before));
}
SLOWPATH_KEPT void rte_ipv6_addr_mask(struct rte_ipv6_addr *ip, uint8_t depth)
{
	unsigned at;

	SLOWPATH_LOOP for (at = depth / 8; at < RTE_IPV6_ADDR_SIZE; at++)
		ip->a[at] &= slowpath_ipv6_bits(depth, at);
}
SLOWPATH_KEPT bool rte_ipv6_addr_eq_prefix(const struct rte_ipv6_addr *a, const struct rte_ipv6_addr *b, uint8_t depth)
{
	unsigned at;

	SLOWPATH_LOOP for (at = 0; at < RTE_IPV6_ADDR_SIZE && at * 8 < depth; at++)
		if ((a->a[at] ^ b->a[at]) & slowpath_ipv6_bits(depth, at))
			return false;
	return true;
}
SLOWPATH_KEPT uint8_t rte_ipv6_mask_depth(const struct rte_ipv6_addr *mask)
{
	uint8_t depth = 0;

	SLOWPATH_LOOP while (depth < RTE_IPV6_MAX_DEPTH && mask->a[depth / 8] >> (7 - depth % 8) & 1)
		depth++;
	return depth;
}
SLOWPATH_INLINE bool rte_ipv6_addr_is_unspec(const struct rte_ipv6_addr *ip)
{
	const struct rte_ipv6_addr none = RTE_IPV6_ADDR_UNSPEC;

	return rte_ipv6_addr_eq(ip, &none);
}
SLOWPATH_INLINE bool rte_ipv6_addr_is_loopback(const struct rte_ipv6_addr *ip)
{
	const struct rte_ipv6_addr loopback = RTE_IPV6_ADDR_LOOPBACK;

	return rte_ipv6_addr_eq(ip, &loopback);
}
SLOWPATH_INLINE bool rte_ipv6_addr_is_linklocal(const struct rte_ipv6_addr *ip)
{
	return ip->a[0] == 0xfe && (ip->a[1] & 0xc0) == 0x80;
}
SLOWPATH_INLINE bool rte_ipv6_addr_is_sitelocal(const struct rte_ipv6_addr *ip)
{
	return ip->a[0] == 0xfe && (ip->a[1] & 0xc0) == 0xc0;
}
SLOWPATH_INLINE bool rte_ipv6_addr_is_mcast(const struct rte_ipv6_addr *ip) { return ip->a[0] == 0xff; }
SLOWPATH_INLINE bool rte_ipv6_addr_is_v4mapped(const struct rte_ipv6_addr *ip)
{
	const struct rte_ipv6_addr prefix = RTE_IPV6_ADDR_PREFIX_V4MAPPED;

	return rte_ipv6_addr_eq_prefix(ip, &prefix, 96);
}

struct rte_ipv6_hdr {
#ifdef SLOWPATH_DPDK_IPV6
	union {
		rte_be32_t vtc_flow;
		struct {
			uint32_t flow_label : 20;
			uint32_t ecn : 2;
			uint32_t ds : 6;
			uint32_t version : 4;
		};
	};
#else
	rte_be32_t vtc_flow;
#endif
	rte_be16_t payload_len;
	uint8_t proto;
	uint8_t hop_limits;
	slowpath_ipv6_row src_addr;
	slowpath_ipv6_row dst_addr;
} __rte_packed;

SLOWPATH_INLINE int rte_ipv6_check_version(const struct rte_ipv6_hdr *header)
{
	return *(const uint8_t *)header >> 4 == 6 ? 0 : -EINVAL;
}
#endif
