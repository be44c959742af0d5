/* Functions whose tables main makes, which does not run. */
#include <rte_ethdev.h>
#include <rte_lpm.h>

static struct rte_lpm *routes;

int route(struct rte_mbuf *m, struct rte_lpm *table)
{
	uint32_t hop;

	return rte_lpm_lookup(table, m->pkt_len, &hop);
}

int main(void)
{
	struct rte_lpm_config config = {.max_rules = 16};

	routes = rte_lpm_create("routes", SOCKET_ID_ANY, &config);
	return route(NULL, routes);
}
