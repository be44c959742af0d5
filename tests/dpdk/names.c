/* Names of DPDK's newest release and of 22.11, by their values; what the headers compute with them. */
#include <stdio.h>
#include <rte_approx.h>
#include <rte_bpf.h>
#include <rte_ip.h>
#include <rte_ip4.h>
#include <rte_ip6.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_thash.h>

#define TELL(name) printf(#name " %llu\n", (unsigned long long)(name))

static void hash(uint32_t from, uint32_t to, uint16_t source, uint16_t target, uint8_t *key)
{
	struct rte_ipv4_tuple tuple = { .src_addr = from, .dst_addr = to };
	uint32_t ready[10];

	tuple.sport = source;
	tuple.dport = target;
	rte_convert_rss_key((const uint32_t *)key, ready, 40);
	printf("hash %u %u %u\n", rte_softrss((uint32_t *)&tuple, RTE_THASH_V4_L3_LEN, key),
	       rte_softrss((uint32_t *)&tuple, RTE_THASH_V4_L4_LEN, key),
	       rte_softrss_be((uint32_t *)&tuple, RTE_THASH_V4_L4_LEN, (const uint8_t *)ready));
}

int main(void)
{
	uint8_t key[40] = { 0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
			    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
			    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa };
	struct rte_ipv6_addr address = RTE_IPV6(0x2001, 0xdb8, 0xffff, 0xfedc, 0x1234, 0x5678, 0x9abc, 0xdef0);
	unsigned depth;

	TELL(RTE_MBUF_F_RX_IP_CKSUM_NONE);
	TELL(RTE_MBUF_F_RX_L4_CKSUM_NONE);
	TELL(RTE_MBUF_F_RX_QINQ_STRIPPED);
	TELL(RTE_MBUF_F_TX_TUNNEL_VXLAN);
	TELL(RTE_MBUF_F_TX_OUTER_IPV6);
	TELL(RTE_MBUF_F_INDIRECT);
	TELL(RTE_LOG_EMERG);
	TELL(RTE_LOG_ALERT);
	TELL(RTE_LOG_CRIT);
	TELL(RTE_LOG_ERR);
	TELL(RTE_LOG_WARNING);
	TELL(RTE_LOG_NOTICE);
	TELL(RTE_LOG_INFO);
	TELL(RTE_LOG_DEBUG);
	TELL(sizeof(struct rte_ipv6_hdr));
	TELL(sizeof(struct rte_ipv6_addr));
	TELL(sizeof(((struct rte_ipv6_hdr *)0)->src_addr));
	hash(RTE_IPV4(66, 9, 149, 187), RTE_IPV4(161, 142, 100, 80), 2794, 1766, key);
	hash(RTE_IPV4(199, 92, 111, 2), RTE_IPV4(65, 69, 140, 83), 14230, 4739, key);
	hash(RTE_IPV4(24, 19, 198, 95), RTE_IPV4(12, 22, 207, 184), 12898, 38024, key);
	for (depth = 0; depth <= 128; depth++) {
		struct rte_ipv6_addr masked = address, mask = RTE_IPV6_MASK_FULL, other = address;
		unsigned at;

		rte_ipv6_addr_mask(&masked, (uint8_t)depth);
		rte_ipv6_addr_mask(&mask, (uint8_t)depth);
		if (depth < 128)
			other.a[depth / 8] ^= (uint8_t)(0x80 >> depth % 8);
		printf("mask %u %d %d %u ", depth, rte_ipv6_addr_eq_prefix(&address, &other, (uint8_t)depth),
		       depth < 128 && rte_ipv6_addr_eq_prefix(&address, &other, (uint8_t)(depth + 1)),
		       rte_ipv6_mask_depth(&mask));
		for (at = 0; at < 16; at++)
			printf("%02x", masked.a[at]);
		printf("\n");
	}
	for (depth = 1; depth < 100; depth++) {
		double alpha = depth / 101.0 + 0.003, within = 0.0007 * depth;
		uint32_t p = 0, q = 0;
		int failed = rte_approx(alpha, within, &p, &q);

		printf("approx %.17g %.17g %d %u %u\n", alpha, within, failed, p, q);
	}
	return 0;
}
