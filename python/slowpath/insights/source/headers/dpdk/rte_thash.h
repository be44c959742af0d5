/* The Toeplitz hash, bit by bit, as cards compute it for receive side scaling. */
#ifndef SLOWPATH_DPDK_THASH_H
#define SLOWPATH_DPDK_THASH_H
#include <rte_ip.h>

struct rte_ipv4_tuple {
	uint32_t src_addr;
	uint32_t dst_addr;
	union {
		struct {
			uint16_t dport;
			uint16_t sport;
		};
		uint32_t sctp_tag;
	};
};
struct rte_ipv6_tuple {
	slowpath_ipv6_row src_addr;
	slowpath_ipv6_row dst_addr;
	union {
		struct {
			uint16_t dport;
			uint16_t sport;
		};
		uint32_t sctp_tag;
	};
};
union rte_thash_tuple {
	struct rte_ipv4_tuple v4;
	struct rte_ipv6_tuple v6;
} __attribute__((aligned(16)));

#define RTE_THASH_V4_L4_LEN (sizeof(struct rte_ipv4_tuple) / 4)
#define RTE_THASH_V4_L3_LEN (RTE_THASH_V4_L4_LEN - 1)
#define RTE_THASH_V6_L4_LEN (sizeof(struct rte_ipv6_tuple) / 4)
#define RTE_THASH_V6_L3_LEN (RTE_THASH_V6_L4_LEN - 1)

SLOWPATH_KEPT void rte_convert_rss_key(const uint32_t *orig, uint32_t *targ, int len)
{
	int at;

	SLOWPATH_LOOP for (at = 0; at < len / 4; at++)
		targ[at] = rte_be_to_cpu_32(orig[at]);
}
SLOWPATH_KEPT void rte_thash_load_v6_addrs(const struct rte_ipv6_hdr *orig, union rte_thash_tuple *targ)
{
	uint32_t words[8];
	int at;

	memcpy(words, &orig->src_addr, sizeof(words));
	SLOWPATH_LOOP for (at = 0; at < 8; at++)
		words[at] = rte_be_to_cpu_32(words[at]);
	memcpy(&targ->v6, words, sizeof(words));
}
/* Computes the hash with a key whose words are in host byte order. */
SLOWPATH_KEPT uint32_t rte_softrss_be(uint32_t *input_tuple, uint32_t input_len, const uint8_t *rss_key)
{
	const uint32_t *key = (const uint32_t *)rss_key;
	uint32_t at, bit, hash = 0;

	SLOWPATH_LOOP for (at = 0; at < input_len; at++)
		SLOWPATH_LOOP for (bit = 0; bit < 32; bit++)
			if (input_tuple[at] >> (31 - bit) & 1)
				hash ^= (uint32_t)(((uint64_t)key[at] << 32 | key[at + 1]) << bit >> 32);
	return hash;
}
/* Computes the hash with a key as the card has it, in network byte order. */
SLOWPATH_KEPT uint32_t rte_softrss(uint32_t *input_tuple, uint32_t input_len, const uint8_t *rss_key)
{
	const uint32_t *key = (const uint32_t *)rss_key;
	uint32_t at, bit, hash = 0;

	SLOWPATH_LOOP for (at = 0; at < input_len; at++)
		SLOWPATH_LOOP for (bit = 0; bit < 32; bit++)
			if (input_tuple[at] >> (31 - bit) & 1) {
				uint64_t words = (uint64_t)rte_be_to_cpu_32(key[at]) << 32;

				hash ^= (uint32_t)((words | rte_be_to_cpu_32(key[at + 1])) << bit >> 32);
			}
	return hash;
}
#endif
