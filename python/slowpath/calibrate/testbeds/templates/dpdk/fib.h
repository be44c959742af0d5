
#include <rte_fib.h>

struct address {
	uint32_t number;
};

static struct rte_fib *table[TABLES];

static int create(long t, const char *name)
{
	struct rte_fib_conf config = {
		.type = RTE_FIB_DIR24_8,
		.default_nh = entries,
		.max_routes = entries + 1,
		.dir24_8 = {
			.nh_sz = RTE_FIB_DIR24_8_4B,
			.num_tbl8 = prefix_bits > 24 ? entries + 1 : 1,
		},
	};

	table[t] = rte_fib_create(name, SOCKET_ID_ANY, &config);
	return table[t] ? 0 : -1;
}

static int add(long t, struct address address, uint32_t entry)
{
	return rte_fib_add(table[t], address.number, prefix_bits, entry);
}

/* Returns the number of the matching entry, or the number of all entries if none matches. */
static inline uint32_t look_up(long t, const struct address *address)
{
	uint32_t number = address->number;
	uint64_t found;

	rte_fib_lookup_bulk(table[t], &number, &found, 1);
	return found;
}

static void destroy(long t)
{
	rte_fib_free(table[t]);
	table[t] = NULL;
}
