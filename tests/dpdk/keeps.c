/* Packets that are copied, kept, freed twice and sent to two ports. */
#include <rte_ethdev.h>

static struct rte_mempool *pool;
static unsigned long ports[2];

int keep(struct rte_mbuf *m, uint16_t port)
{
	struct rte_mbuf *copy = rte_pktmbuf_clone(m, pool), *other;
	unsigned char first = rte_pktmbuf_mtod(m, unsigned char *)[0];

	ports[port]++;
	if (!copy)
		return -1;
	if (first & 1) {
		other = rte_pktmbuf_alloc(pool);
		rte_pktmbuf_append(other, 60);
		rte_eth_tx_burst(4, 0, &other, 1);
		rte_mbuf_refcnt_update(copy, 1);
		rte_pktmbuf_free(copy);
		rte_pktmbuf_free(copy);
		return 1;
	}
	if (rte_pktmbuf_pkt_len(copy) != rte_pktmbuf_pkt_len(m) ||
	    memcmp(rte_pktmbuf_mtod(copy, char *), rte_pktmbuf_mtod(m, char *), copy->data_len))
		return -2;
	return 0;
}
