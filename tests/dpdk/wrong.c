/* What ends the run, by the first byte of the packet. */
#include <rte_ethdev.h>
#include <rte_hash.h>

static struct rte_hash *table;

void wrong(struct rte_mbuf *m)
{
	struct rte_hash_parameters asked = {.entries = 8, .key_len = 64};

	switch (*rte_pktmbuf_mtod(m, char *)) {
	case 1: rte_eth_tx_burst(64, 0, &m, 1); break;
	case 2: table = rte_hash_create(&asked); break;
	case 3: rte_exit(1, "no"); break;
	case 4: rte_eth_dev_start(0); break;
	}
}
