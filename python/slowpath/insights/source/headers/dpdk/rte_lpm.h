/* A list of prefixes; a lookup compares all of them, as a card without a TCAM may. Each call site that creates a table
 * has its own table of at most `SLOWPATH_RULES` prefixes. */
#ifndef SLOWPATH_DPDK_LPM_H
#define SLOWPATH_DPDK_LPM_H
#include <slowpath_prefixes.h>

#define RTE_LPM_MAX_DEPTH 32
#define RTE_LPM_LOOKUP_SUCCESS 0x01000000

struct rte_lpm_config {
	uint32_t max_rules;
	uint32_t number_tbl8s;
	int flags;
};
struct rte_lpm {
	struct {
		uint32_t ip, mask, next_hop; /* in host byte order */
		uint32_t length;             /* 0: free */
	} rules[SLOWPATH_RULES];
	uint32_t most, used;
};

SLOWPATH_KEPT struct rte_lpm *rte_lpm_started(struct rte_lpm *table, const struct rte_lpm_config *asked)
{
	table->most = RTE_MIN(asked->max_rules, (uint32_t)SLOWPATH_RULES);
	return asked->max_rules ? table : 0;
}
#define rte_lpm_create(name, socket, config) __extension__({ \
	static struct rte_lpm rte_lpm; \
	(void)(name), (void)(socket); \
	rte_lpm_started(&rte_lpm, config); \
})

SLOWPATH_PREFIXES(rte_lpm, uint32_t ip, SLOWPATH_UNDER)

SLOWPATH_KEPT int rte_lpm_add(struct rte_lpm *table, uint32_t ip, uint8_t depth, uint32_t next_hop)
{
	uint32_t at;

	if (!table || depth < 1 || depth > RTE_LPM_MAX_DEPTH)
		return -EINVAL;
	at = rte_lpm_place(table, ip, depth);
	if (at == table->most)
		return -ENOSPC;
	table->rules[at].mask = SLOWPATH_MASK(depth);
	table->rules[at].ip = ip & table->rules[at].mask;
	table->rules[at].next_hop = next_hop;
	table->rules[at].length = depth;
	return 0;
}
SLOWPATH_KEPT int rte_lpm_delete(struct rte_lpm *table, uint32_t ip, uint8_t depth)
{
	uint32_t at;

	if (!table || depth < 1 || depth > RTE_LPM_MAX_DEPTH)
		return -EINVAL;
	at = rte_lpm_find_rule(table, ip, depth);
	if (at == table->used)
		return -EINVAL;
	table->rules[at].length = 0;
	return 0;
}
SLOWPATH_KEPT int rte_lpm_lookup(const struct rte_lpm *table, uint32_t ip, uint32_t *next_hop)
{
	uint32_t at, best = 0, hop = 0;

	SLOWPATH_LOOP for (at = 0; at < table->used; at++)
		if (SLOWPATH_UNDER(table->rules[at], ip) && table->rules[at].length > best) {
			best = table->rules[at].length;
			hop = table->rules[at].next_hop;
		}
	if (!best)
		return -ENOENT;
	*next_hop = hop;
	return 0;
}
SLOWPATH_INLINE int rte_lpm_is_rule_present(struct rte_lpm *table, uint32_t ip, uint8_t depth, uint32_t *next_hop)
{
	uint32_t at = rte_lpm_find_rule(table, ip, depth);

	if (at == table->used)
		return 0;
	*next_hop = table->rules[at].next_hop;
	return 1;
}
SLOWPATH_INLINE int rte_lpm_lookup_bulk(const struct rte_lpm *table, const uint32_t *ips, uint32_t *hops, unsigned count)
{
	unsigned at;

	SLOWPATH_LOOP for (at = 0; at < count; at++)
		hops[at] = rte_lpm_lookup(table, ips[at], &hops[at]) == 0 ? hops[at] | RTE_LPM_LOOKUP_SUCCESS : 0;
	return 0;
}
SLOWPATH_INLINE void rte_lpm_free(struct rte_lpm *table) { (void)table; }
#endif
