
#include <rte_lpm6.h>

struct address {
	uint8_t byte[RTE_LPM6_IPV6_ADDR_SIZE];
};

static struct rte_lpm6 *table[TABLES];

static int create(long t, const char *name)
{
	struct rte_lpm6_config config = {
		.max_rules = entries + 1,
		.number_tbl8s = TBL8S,
	};

	table[t] = rte_lpm6_create(name, SOCKET_ID_ANY, &config);
	return table[t] ? 0 : -1;
}

static int add(long t, struct address address, uint32_t entry)
{
	return rte_lpm6_add(table[t], address.byte, prefix_bits, entry);
}

/* Returns the number of the matching entry, or the number of all entries if none matches. */
static inline uint32_t look_up(long t, const struct address *address)
{
	uint32_t found;

	return rte_lpm6_lookup(table[t], address->byte, &found) ? entries : found;
}

static void destroy(long t)
{
	rte_lpm6_free(table[t]);
	table[t] = NULL;
}
