/* What is called back with packets, beside what does the work. */
#include <rte_ethdev.h>

static uint64_t unsent_packets, seen;
static struct rte_eth_dev_tx_buffer buffer;

static void unsent(struct rte_mbuf **packets, uint16_t count, void *given)
{
	*(uint64_t *)given += count;
	rte_pktmbuf_free_bulk(packets, count);
}

#ifndef LOOP
static void handle(struct rte_mbuf **packets, uint16_t count)
{
	seen += count;
	rte_eth_tx_burst(1, 0, packets, count);
}
#endif
#ifdef WATCHED
static uint16_t watch(uint16_t port, uint16_t queue, struct rte_mbuf **packets, uint16_t count, uint16_t most,
		      void *given)
{
	seen += packets[0]->pkt_len + port + queue + most + (given != NULL);
	return count;
}
#endif

static int core(void)
{
	struct rte_mbuf *packets[8];
	uint16_t count;

	for (;;) {
		count = rte_eth_rx_burst(0, 0, packets, 8);
#ifdef LOOP
		seen += rte_eth_tx_burst(1, 0, packets, count);
#else
		handle(packets, count);
#endif
	}
	return 0;
}

int main(int count, char **words)
{
	if (rte_eal_init(count, words) < 0)
		return 1;
	rte_eth_tx_buffer_init(&buffer, 1);
	rte_eth_tx_buffer_set_err_callback(&buffer, unsent, &unsent_packets);
#ifdef WATCHED
	rte_eth_add_rx_callback(0, 0, watch, NULL);
#endif
	return core();
}
