/* What becomes of packets, by what is named. */
#include <rte_ethdev.h>

static struct rte_mempool *pool;
static struct rte_mbuf *waiting[32];
static unsigned number;

/* Mistakes: packets that are gone. */
void sent_twice(struct rte_mbuf *m)
{
	struct rte_mbuf *both[2] = {m, m};

	rte_eth_tx_burst(0, 0, both, 2);
}
void sent_and_freed(struct rte_mbuf *m)
{
	rte_eth_tx_burst(0, 0, &m, 1);
	rte_pktmbuf_free(m);
}
void freed_twice(struct rte_mbuf *m)
{
	rte_pktmbuf_free(m);
	rte_pktmbuf_free(m);
}

/* No mistakes. */
void flooded(struct rte_mbuf *m)
{
	rte_mbuf_refcnt_update(m, 2);
	rte_eth_tx_burst(0, 0, &m, 1);
	rte_eth_tx_burst(1, 0, &m, 1);
	rte_eth_tx_burst(2, 0, &m, 1);
}
void kept_after_sending(struct rte_mbuf *m)
{
	rte_mbuf_refcnt_update(m, 1);
	rte_eth_tx_burst(0, 0, &m, 1);
	rte_pktmbuf_free(m);
}
/* Packets wait with their bytes. */
int together(struct rte_mbuf *m)
{
	unsigned at, wrong = 0;

	waiting[number++] = m;
	m->hash.usr = *rte_pktmbuf_mtod(m, uint8_t *);
	if (number < RTE_DIM(waiting))
		return 0;
	for (at = 0; at < number; at++)
		wrong += waiting[at]->hash.usr != *rte_pktmbuf_mtod(waiting[at], uint8_t *) ||
			 waiting[at]->hash.usr != waiting[0]->hash.usr + at;
	number = 0;
	rte_eth_tx_burst(3, 0, waiting, RTE_DIM(waiting));
	return wrong ? -1 : 1;
}
int made_instead(struct rte_mbuf *m)
{
	struct rte_mbuf *other;

	rte_pktmbuf_free(m);
	other = rte_pktmbuf_alloc(pool);
	if (!other || !rte_pktmbuf_append(other, 64) || rte_pktmbuf_append(other, 20000))
		return -1;
	return rte_eth_tx_burst(0, 0, &other, 1);
}
