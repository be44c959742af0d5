
#include <rte_fib6.h>

struct address {
	uint8_t byte[RTE_FIB6_IPV6_ADDR_SIZE];
};

static struct rte_fib6 *table[TABLES];

static int create(long t, const char *name)
{
	struct rte_fib6_conf config = {
		.type = RTE_FIB6_TRIE,
		.default_nh = entries,
		.max_routes = entries + 1,
		.trie = { .nh_sz = RTE_FIB6_TRIE_4B, .num_tbl8 = TBL8S },
	};

	table[t] = rte_fib6_create(name, SOCKET_ID_ANY, &config);
	return table[t] ? 0 : -1;
}

static int add(long t, struct address address, uint32_t entry)
{
	return rte_fib6_add(table[t], address.byte, prefix_bits, entry);
}

/* Returns the number of the matching entry, or the number of all entries if none matches. */
static inline uint32_t look_up(long t, struct address *address)
{
	uint64_t found;

	rte_fib6_lookup_bulk(table[t], &address->byte, &found, 1);
	return found;
}

static void destroy(long t)
{
	rte_fib6_free(table[t]);
	table[t] = NULL;
}
