/* Like rte_fib.h, for IPv6. */
#ifndef SLOWPATH_DPDK_FIB6_H
#define SLOWPATH_DPDK_FIB6_H
#include <slowpath_ipv6.h>
#include <slowpath_prefixes.h>

#define RTE_FIB6_IPV6_ADDR_SIZE 16
#define RTE_FIB6_MAXDEPTH 128

enum rte_fib6_type { RTE_FIB6_DUMMY, RTE_FIB6_TRIE };
enum rte_fib_trie_nh_sz { RTE_FIB6_TRIE_2B = 1, RTE_FIB6_TRIE_4B, RTE_FIB6_TRIE_8B };
enum rte_fib6_lookup_type { RTE_FIB6_LOOKUP_DEFAULT, RTE_FIB6_LOOKUP_TRIE_SCALAR, RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512 };
struct rte_fib6_conf {
	enum rte_fib6_type type;
	uint64_t default_nh;
	int max_routes;
	unsigned rib_ext_sz;
	union {
		struct {
			enum rte_fib_trie_nh_sz nh_sz;
			uint32_t num_tbl8;
		} trie;
	};
};
struct rte_fib6 {
	struct {
		uint64_t ip[2], mask[2]; /* in network byte order */
		uint32_t length;         /* prefix length plus one; 0: free */
		uint64_t next_hop;
	} rules[SLOWPATH_RULES];
	uint64_t default_nh, largest;
	uint32_t most, used;
};
SLOWPATH_PREFIXES(rte_fib6, const uint64_t *ip, SLOWPATH_UNDER6)

SLOWPATH_KEPT struct rte_fib6 *rte_fib6_started(struct rte_fib6 *table, const struct rte_fib6_conf *asked)
{
	if (!asked || asked->max_routes < 0 || (unsigned)asked->type > RTE_FIB6_TRIE)
		return 0;
	table->default_nh = asked->default_nh;
	table->most = RTE_MIN((uint32_t)asked->max_routes, (uint32_t)SLOWPATH_RULES);
	/* An entry of a trie uses one bit for its type. */
	table->largest = asked->type == RTE_FIB6_DUMMY ? UINT64_MAX
						       : (UINT64_C(1) << ((8u << asked->trie.nh_sz) - 1)) - 1;
	if (asked->type == RTE_FIB6_TRIE && (asked->trie.nh_sz < RTE_FIB6_TRIE_2B || asked->trie.nh_sz > RTE_FIB6_TRIE_8B ||
					     !asked->trie.num_tbl8 || asked->trie.num_tbl8 > table->largest))
		return 0;
	return table->default_nh > table->largest ? 0 : table;
}
#define rte_fib6_create(name, socket, config) __extension__({ \
	static struct rte_fib6 rte_fib6; \
	(void)(name), (void)(socket); \
	rte_fib6_started(&rte_fib6, config); \
})

SLOWPATH_KEPT int rte_fib6_add(struct rte_fib6 *table, const slowpath_ipv6 *address, uint8_t depth, uint64_t next_hop)
{
	uint64_t ip[2];
	uint32_t at;

	if (!table || !address || depth > RTE_FIB6_MAXDEPTH || next_hop > table->largest)
		return -EINVAL;
	memcpy(ip, address, sizeof(ip));
	at = rte_fib6_place(table, ip, depth + 1u);
	if (at == table->most)
		return -ENOMEM;
	SLOWPATH_SET6(table->rules[at], ip, depth);
	table->rules[at].length = depth + 1u;
	table->rules[at].next_hop = next_hop;
	return 0;
}
SLOWPATH_KEPT int rte_fib6_delete(struct rte_fib6 *table, const slowpath_ipv6 *address, uint8_t depth)
{
	uint64_t ip[2];
	uint32_t at;

	if (!table || !address || depth > RTE_FIB6_MAXDEPTH)
		return -EINVAL;
	memcpy(ip, address, sizeof(ip));
	at = rte_fib6_find_rule(table, ip, depth + 1u);
	if (at == table->used)
		return -ENOENT;
	table->rules[at].length = 0;
	return 0;
}
SLOWPATH_KEPT int rte_fib6_lookup_bulk(struct rte_fib6 *table, slowpath_ipv6_row *ips, uint64_t *hops,
				       int count)
{
	uint32_t at, best;
	uint64_t ip[2];
	int packet;

	if (!table || !ips || !hops)
		return -EINVAL;
	SLOWPATH_LOOP for (packet = 0; packet < count; packet++) {
		memcpy(ip, &ips[packet], sizeof(ip));
		hops[packet] = table->default_nh;
		best = 0;
		SLOWPATH_LOOP for (at = 0; at < table->used; at++)
			if (table->rules[at].length > best && SLOWPATH_UNDER6(table->rules[at], ip)) {
				best = table->rules[at].length;
				hops[packet] = table->rules[at].next_hop;
			}
	}
	return 0;
}
SLOWPATH_INLINE int rte_fib6_select_lookup(struct rte_fib6 *table, enum rte_fib6_lookup_type type)
{
	(void)table, (void)type;
	return 0;
}
SLOWPATH_INLINE void rte_fib6_free(struct rte_fib6 *table) { (void)table; }
SLOWPATH_C struct rte_fib6 *rte_fib6_find_existing(const char *name);
#endif
