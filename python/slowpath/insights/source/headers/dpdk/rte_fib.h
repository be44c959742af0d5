/* A list of prefixes with lookups of many addresses at once. Like rte_lpm.h, with 64-bit next hops, a default next hop,
 * and prefixes of length 0. */
#ifndef SLOWPATH_DPDK_FIB_H
#define SLOWPATH_DPDK_FIB_H
#include <slowpath_prefixes.h>

#define RTE_FIB_MAXDEPTH 32

enum rte_fib_type { RTE_FIB_DUMMY, RTE_FIB_DIR24_8 };
enum rte_fib_dir24_8_nh_sz { RTE_FIB_DIR24_8_1B, RTE_FIB_DIR24_8_2B, RTE_FIB_DIR24_8_4B, RTE_FIB_DIR24_8_8B };
enum rte_fib_lookup_type {
	RTE_FIB_LOOKUP_DEFAULT,
	RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO,
	RTE_FIB_LOOKUP_DIR24_8_SCALAR_INLINE,
	RTE_FIB_LOOKUP_DIR24_8_SCALAR_UNI,
	RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512
};
struct rte_fib_conf {
	enum rte_fib_type type;
	uint64_t default_nh;
	int max_routes;
	unsigned rib_ext_sz;
	union {
		struct {
			enum rte_fib_dir24_8_nh_sz nh_sz;
			uint32_t num_tbl8;
		} dir24_8;
	};
};
struct rte_fib {
	struct {
		uint32_t ip, mask; /* in host byte order */
		uint32_t length;   /* prefix length plus one; 0: free */
		uint64_t next_hop;
	} rules[SLOWPATH_RULES];
	uint64_t default_nh, largest;
	uint32_t most, used;
};

SLOWPATH_KEPT struct rte_fib *rte_fib_started(struct rte_fib *table, const struct rte_fib_conf *asked)
{
	if (!asked || asked->max_routes < 0 || (unsigned)asked->type > RTE_FIB_DIR24_8)
		return 0;
	table->most = RTE_MIN((uint32_t)asked->max_routes, (uint32_t)SLOWPATH_RULES);
	table->default_nh = asked->default_nh;
	/* An entry of DIR-24-8 uses one bit for its type. */
	table->largest = asked->type == RTE_FIB_DUMMY ? UINT64_MAX
						      : (UINT64_C(1) << ((8u << asked->dir24_8.nh_sz) - 1)) - 1;
	if (asked->type == RTE_FIB_DIR24_8 && (!asked->dir24_8.num_tbl8 || asked->dir24_8.num_tbl8 > table->largest))
		return 0;
	return table->default_nh > table->largest ? 0 : table;
}
#define rte_fib_create(name, socket, config) __extension__({ \
	static struct rte_fib rte_fib; \
	(void)(name), (void)(socket); \
	rte_fib_started(&rte_fib, config); \
})

SLOWPATH_PREFIXES(rte_fib, uint32_t ip, SLOWPATH_UNDER)

SLOWPATH_KEPT int rte_fib_add(struct rte_fib *table, uint32_t ip, uint8_t depth, uint64_t next_hop)
{
	uint32_t at;

	if (!table || depth > RTE_FIB_MAXDEPTH || next_hop > table->largest)
		return -EINVAL;
	at = rte_fib_place(table, ip, depth + 1u);
	if (at == table->most)
		return -ENOMEM;
	table->rules[at].mask = SLOWPATH_MASK(depth);
	table->rules[at].ip = ip & table->rules[at].mask;
	table->rules[at].length = depth + 1u;
	table->rules[at].next_hop = next_hop;
	return 0;
}
SLOWPATH_KEPT int rte_fib_delete(struct rte_fib *table, uint32_t ip, uint8_t depth)
{
	uint32_t at;

	if (!table || depth > RTE_FIB_MAXDEPTH)
		return -EINVAL;
	at = rte_fib_find_rule(table, ip, depth + 1u);
	if (at == table->used)
		return -ENOENT;
	table->rules[at].length = 0;
	return 0;
}
SLOWPATH_KEPT int rte_fib_lookup_bulk(struct rte_fib *table, uint32_t *ips, uint64_t *hops, int count)
{
	uint32_t at, best;
	int packet;

	SLOWPATH_LOOP for (packet = 0; packet < count; packet++) {
		hops[packet] = table->default_nh;
		best = 0;
		SLOWPATH_LOOP for (at = 0; at < table->used; at++)
			if (table->rules[at].length > best && SLOWPATH_UNDER(table->rules[at], ips[packet])) {
				best = table->rules[at].length;
				hops[packet] = table->rules[at].next_hop;
			}
	}
	return 0;
}
SLOWPATH_INLINE int rte_fib_select_lookup(struct rte_fib *table, enum rte_fib_lookup_type type)
{
	(void)table, (void)type;
	return 0;
}
SLOWPATH_INLINE void rte_fib_free(struct rte_fib *table) { (void)table; }
#endif
