/* Packets that get a second segment: 0 where all is as it should be. */
#include <rte_ethdev.h>

#define MORE 40

int lengthen(struct rte_mbuf *m, struct rte_mempool *pool)
{
	struct rte_mbuf *more = rte_pktmbuf_alloc(pool), *copy;
	uint16_t at, had = rte_pktmbuf_data_len(m);
	char over[MORE];
	const char *found;

	for (at = 0; at < MORE; at++)
		rte_pktmbuf_append(more, 1)[0] = (char)at;
	if (rte_pktmbuf_chain(m, more) || m->nb_segs != 2 || rte_pktmbuf_is_contiguous(m))
		return 1;
	found = (const char *)rte_pktmbuf_read(m, had - 2u, 12, over);
	if (found != over || found[2] != 0 || found[11] != 9)
		return 2;
	copy = rte_pktmbuf_clone(m, pool);
	if (copy->nb_segs != 1 || copy->data_len != had + MORE)
		return 3;
	if (rte_pktmbuf_linearize(m) || m->nb_segs != 1 || m->next || m->data_len != had + MORE)
		return 4;
	if (memcmp(rte_pktmbuf_mtod(m, char *), rte_pktmbuf_mtod(copy, char *), m->data_len))
		return 5;
	rte_pktmbuf_free(copy);
	more = rte_pktmbuf_alloc(pool);
	rte_pktmbuf_chain(m, more);
	if (had % 2)
		rte_pktmbuf_free(m);
	else
		rte_eth_tx_burst(1, 0, &m, 1);
	return 0;
}
