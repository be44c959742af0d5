/* Like rte_lpm.h, for IPv6. */
#ifndef SLOWPATH_DPDK_LPM6_H
#define SLOWPATH_DPDK_LPM6_H
#include <slowpath_ipv6.h>
#include <slowpath_prefixes.h>

#define RTE_LPM6_MAX_DEPTH 128
#define RTE_LPM6_IPV6_ADDR_SIZE 16

struct rte_lpm6_config {
	uint32_t max_rules;
	uint32_t number_tbl8s;
	int flags;
};
struct rte_lpm6 {
	struct {
		uint64_t ip[2], mask[2]; /* in network byte order */
		uint32_t next_hop, length; /* 0: free */
	} rules[SLOWPATH_RULES];
	uint32_t most, used;
};

SLOWPATH_KEPT struct rte_lpm6 *rte_lpm6_started(struct rte_lpm6 *table, const struct rte_lpm6_config *asked)
{
	table->most = RTE_MIN(asked->max_rules, (uint32_t)SLOWPATH_RULES);
	return asked->max_rules ? table : 0;
}
#define rte_lpm6_create(name, socket, config) __extension__({ \
	static struct rte_lpm6 rte_lpm6; \
	(void)(name), (void)(socket); \
	rte_lpm6_started(&rte_lpm6, config); \
})

SLOWPATH_PREFIXES(rte_lpm6, const uint64_t *ip, SLOWPATH_UNDER6)

SLOWPATH_KEPT int rte_lpm6_add(struct rte_lpm6 *table, const slowpath_ipv6 *address, uint8_t depth, uint32_t next_hop)
{
	uint64_t ip[2];
	uint32_t at;

	if (!table || depth < 1 || depth > RTE_LPM6_MAX_DEPTH)
		return -EINVAL;
	memcpy(ip, address, sizeof(ip));
	at = rte_lpm6_place(table, ip, depth);
	if (at == table->most)
		return -ENOSPC;
	SLOWPATH_SET6(table->rules[at], ip, depth);
	table->rules[at].next_hop = next_hop;
	table->rules[at].length = depth;
	return 0;
}
SLOWPATH_KEPT int rte_lpm6_delete(struct rte_lpm6 *table, const slowpath_ipv6 *address, uint8_t depth)
{
	uint64_t ip[2];
	uint32_t at;

	if (!table || depth < 1 || depth > RTE_LPM6_MAX_DEPTH)
		return -EINVAL;
	memcpy(ip, address, sizeof(ip));
	at = rte_lpm6_find_rule(table, ip, depth);
	if (at == table->used)
		return -EINVAL;
	table->rules[at].length = 0;
	return 0;
}
SLOWPATH_KEPT int rte_lpm6_lookup(const struct rte_lpm6 *table, const slowpath_ipv6 *address, uint32_t *next_hop)
{
	uint32_t at, best = 0, hop = 0;
	uint64_t ip[2];

	memcpy(ip, address, sizeof(ip));
	SLOWPATH_LOOP for (at = 0; at < table->used; at++)
		if (table->rules[at].length > best && SLOWPATH_UNDER6(table->rules[at], ip)) {
			best = table->rules[at].length;
			hop = table->rules[at].next_hop;
		}
	if (!best)
		return -ENOENT;
	*next_hop = hop;
	return 0;
}
SLOWPATH_INLINE int rte_lpm6_lookup_bulk_func(const struct rte_lpm6 *table, slowpath_ipv6_row *ips,
					      int32_t *hops, unsigned count)
{
	unsigned at;
	uint32_t hop;

	SLOWPATH_LOOP for (at = 0; at < count; at++)
		hops[at] = rte_lpm6_lookup(table, (const slowpath_ipv6 *)&ips[at], &hop) == 0 ? (int32_t)hop : -1;
	return 0;
}
SLOWPATH_INLINE void rte_lpm6_free(struct rte_lpm6 *table) { (void)table; }
#endif
