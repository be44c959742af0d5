/* Packets that wait while hundreds of others come: those that came, and copies of them. */
#include <rte_ethdev.h>

#define LINE 200
#define COPIES 300

static struct rte_mbuf *line[LINE], *copies[COPIES], *one;
static struct rte_mempool *pool;
static unsigned came;

static void turn(struct rte_mbuf **place, struct rte_mbuf *m)
{
	struct rte_mbuf *before = *place;

	*place = m;
	if (before)
		/* To another port where the packet is not the one that was put there. */
		rte_eth_tx_burst(rte_pktmbuf_mtod(before, uint8_t *)[0] != rte_pktmbuf_mtod(m, uint8_t *)[0], 0, &before, 1);
}

/* Each packet waits for 200 others. */
void delayed(struct rte_mbuf *m) { turn(&line[came++ % LINE], m); }

/* Of each packet a copy waits for 300 others. */
void copied(struct rte_mbuf *m)
{
	struct rte_mbuf *copy = rte_pktmbuf_clone(m, pool);

	rte_pktmbuf_free(m);
	if (copy)
		turn(&copies[came++ % COPIES], copy);
}

/* Copies that nobody has any more. */
void lost(struct rte_mbuf *m)
{
	struct rte_mbuf *copy = rte_pktmbuf_clone(m, pool);

	came += copy != NULL;
	rte_pktmbuf_free(m);
}

/* The first one waits, for more than its buffer's turn, in a place that only another packet knows; others go back. */
int given_back(struct rte_mbuf *m)
{
	if (!came++)
		one = m;
	else if (came == 2)
		one->next = m;
	if (came < 2900)
		return 0;
	if (came == 2900)
		rte_eth_tx_burst(rte_pktmbuf_mtod(one->next, uint8_t *)[0], 0, &one->next, 1);
	return 1;
}

/* More copies of one packet than there are buffers. */
void flooded(struct rte_mbuf *m)
{
	struct rte_mbuf *copy;
	int at;

	for (at = 0; at < COPIES; at++)
		if ((copy = rte_pktmbuf_clone(m, pool)))
			copies[at] = copy;
	for (at = 0; at < COPIES; at++)
		if (copies[at])
			rte_pktmbuf_free(copies[at]);
	memset(copies, 0, sizeof(copies));
	rte_pktmbuf_free(m);
}
