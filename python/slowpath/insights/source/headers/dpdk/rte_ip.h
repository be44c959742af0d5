/* IPv4 and IPv6, and their checksums (RFC 1071). */
#ifndef SLOWPATH_DPDK_IP_H
#define SLOWPATH_DPDK_IP_H
#include <netinet/in.h>
#include <rte_byteorder.h>
#include <rte_ip6.h>
#include <rte_mbuf.h>

struct rte_ipv4_hdr {
	union {
		uint8_t version_ihl;
		struct {
			uint8_t ihl : 4;
			uint8_t version : 4;
		};
	};
	uint8_t type_of_service;
	rte_be16_t total_length;
	rte_be16_t packet_id;
	rte_be16_t fragment_offset;
	uint8_t time_to_live;
	uint8_t next_proto_id;
	rte_be16_t hdr_checksum;
	rte_be32_t src_addr;
	rte_be32_t dst_addr;
} __rte_packed;

struct rte_ipv6_fragment_ext {
	uint8_t next_header;
	uint8_t reserved;
	rte_be16_t frag_data;
	rte_be32_t id;
} __rte_packed;
#define RTE_IPV6_FRAG_HDR_SIZE sizeof(struct rte_ipv6_fragment_ext)

#define RTE_IPV4(a, b, c, d) \
	((uint32_t)(((a) & 0xff) << 24) | (((b) & 0xff) << 16) | (((c) & 0xff) << 8) | ((d) & 0xff))
#define RTE_IPV4_HDR_IHL_MASK 0x0f
#define RTE_IPV4_IHL_MULTIPLIER 4
#define RTE_IPV4_HDR_DSCP_MASK 0xfc
#define RTE_IPV4_HDR_ECN_MASK 0x03
#define RTE_IPV4_HDR_DF_FLAG 0x4000
#define RTE_IPV4_HDR_MF_FLAG 0x2000
#define RTE_IPV4_HDR_OFFSET_MASK 0x1fff
#define RTE_IPV4_HDR_OFFSET_UNITS 8
#define RTE_IPV4_HDR_OPT_EOL 0
#define RTE_IPV4_HDR_OPT_NOP 1
#define RTE_IPV4_HDR_OPT_COPIED(kind) ((kind) & 0x80)
#define RTE_IPV4_HDR_OPT_MAX_LEN 40
#define RTE_IPV4_MIN_IHL 0x5
#define RTE_IPV4_VHL_DEF ((4 << 4) | RTE_IPV4_MIN_IHL)
#define RTE_IPV6_EHDR_MF_SHIFT 0
#define RTE_IPV6_EHDR_MF_MASK 1
#define RTE_IPV6_EHDR_FO_SHIFT 3
#define RTE_IPV6_EHDR_FO_MASK (~((1 << RTE_IPV6_EHDR_FO_SHIFT) - 1))
#define RTE_IPV6_EHDR_FO_ALIGN (1 << RTE_IPV6_EHDR_FO_SHIFT)
#define RTE_IPV6_FRAG_USED_MASK (RTE_IPV6_EHDR_MF_MASK | RTE_IPV6_EHDR_FO_MASK)
#define RTE_IPV6_GET_MF(x) ((x) & RTE_IPV6_EHDR_MF_MASK)
#define RTE_IPV6_GET_FO(x) ((x) >> RTE_IPV6_EHDR_FO_SHIFT)
#define RTE_IPV6_SET_FRAG_DATA(offset, more) (((offset) & RTE_IPV6_EHDR_FO_MASK) | ((more) & RTE_IPV6_EHDR_MF_MASK))
#define RTE_IPV4_ANY ((uint32_t)0x00000000)
#define RTE_IPV4_LOOPBACK ((uint32_t)0x7f000001)
#define RTE_IPV4_MIN_MCAST RTE_IPV4(224, 0, 0, 0)
#define RTE_IPV4_MAX_MCAST RTE_IPV4(239, 255, 255, 255)
#define RTE_IS_IPV4_MCAST(x) ((x) >= RTE_IPV4_MIN_MCAST && (x) <= RTE_IPV4_MAX_MCAST)
#define RTE_IPV4_BROADCAST ((uint32_t)0xffffffff)

SLOWPATH_INLINE uint8_t rte_ipv4_hdr_len(const struct rte_ipv4_hdr *header)
{
	return (uint8_t)((header->version_ihl & RTE_IPV4_HDR_IHL_MASK) * RTE_IPV4_IHL_MULTIPLIER);
}

SLOWPATH_INLINE uint16_t slowpath_dpdk_fold(uint64_t sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Returns the sum of bytes in memory order, without complement. */
SLOWPATH_KEPT uint16_t rte_raw_cksum(const void *data, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)data;
	uint64_t sum = 0;
	size_t at;

	SLOWPATH_LOOP for (at = 0; at + 2 <= length; at += 2) {
		uint16_t word;

		memcpy(&word, bytes + at, 2);
		sum += word;
	}
	if (length & 1)
		sum += bytes[length - 1];
	return slowpath_dpdk_fold(sum);
}

SLOWPATH_INLINE uint16_t rte_ipv4_cksum(const struct rte_ipv4_hdr *header)
{
	return (uint16_t)~rte_raw_cksum(header, rte_ipv4_hdr_len(header));
}

/* Returns the sum of the pseudo header without complement, as hardware requires it. */
SLOWPATH_INLINE uint16_t rte_ipv4_phdr_cksum(const struct rte_ipv4_hdr *header, uint64_t flags)
{
	uint64_t sum = (uint64_t)header->src_addr + header->dst_addr;
	uint16_t length = (uint16_t)(rte_be_to_cpu_16(header->total_length) - rte_ipv4_hdr_len(header));

	if (flags & RTE_MBUF_F_TX_TCP_SEG)
		length = 0;
	return slowpath_dpdk_fold(sum + rte_cpu_to_be_16(header->next_proto_id) + rte_cpu_to_be_16(length));
}

SLOWPATH_INLINE uint16_t slowpath_dpdk_udptcp(const struct rte_ipv4_hdr *header, const void *data)
{
	uint32_t whole = rte_be_to_cpu_16(header->total_length), before = rte_ipv4_hdr_len(header);

	if (whole < before)
		return 0;
	return slowpath_dpdk_fold((uint64_t)rte_raw_cksum(data, whole - before) + rte_ipv4_phdr_cksum(header, 0));
}

SLOWPATH_INLINE uint16_t rte_ipv4_udptcp_cksum(const struct rte_ipv4_hdr *header, const void *data)
{
	uint16_t sum = (uint16_t)~slowpath_dpdk_udptcp(header, data);

	return sum == 0 && header->next_proto_id == IPPROTO_UDP ? 0xffff : sum;
}

/* Returns 0 if the checksum is right. */
SLOWPATH_INLINE int rte_ipv4_udptcp_cksum_verify(const struct rte_ipv4_hdr *header, const void *data)
{
	return slowpath_dpdk_udptcp(header, data) == 0xffff ? 0 : -1;
}

SLOWPATH_INLINE uint16_t rte_ipv6_phdr_cksum(const struct rte_ipv6_hdr *header, uint64_t flags)
{
	uint64_t sum = rte_raw_cksum(&header->src_addr, 32);
	uint32_t length = flags & RTE_MBUF_F_TX_TCP_SEG ? 0 : header->payload_len;

	return slowpath_dpdk_fold(sum + length + rte_cpu_to_be_16(header->proto));
}

SLOWPATH_INLINE uint16_t rte_ipv6_udptcp_cksum(const struct rte_ipv6_hdr *header, const void *data)
{
	uint64_t sum = rte_raw_cksum(data, rte_be_to_cpu_16(header->payload_len));
	uint16_t found = (uint16_t)~slowpath_dpdk_fold(sum + rte_ipv6_phdr_cksum(header, 0));

	return found == 0 && header->proto == IPPROTO_UDP ? 0xffff : found;
}
#endif
