
#include <rte_lpm.h>

struct address {
	uint32_t number;
};

static struct rte_lpm *table[TABLES];

static int create(long t, const char *name)
{
	struct rte_lpm_config config = {
		.max_rules = entries + 1,
		.number_tbl8s = prefix_bits > 24 ? entries + 1 : 1,
	};

	table[t] = rte_lpm_create(name, SOCKET_ID_ANY, &config);
	return table[t] ? 0 : -1;
}

static int add(long t, struct address address, uint32_t entry)
{
	return rte_lpm_add(table[t], address.number, prefix_bits, entry);
}

/* Returns the number of the matching entry, or the number of all entries if none matches. */
static inline uint32_t look_up(long t, const struct address *address)
{
	uint32_t found;

	return rte_lpm_lookup(table[t], address->number, &found) ? entries : found;
}

static void destroy(long t)
{
	rte_lpm_free(table[t]);
	table[t] = NULL;
}
