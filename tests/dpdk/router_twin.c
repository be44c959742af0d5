/* The router with DPDK itself: packets from standard input (a length of 4 bytes before each), and at the
 * end how many went to each port, how many were freed, and how many flows there are. */
#include <stdio.h>
#include <stdint.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

static unsigned long sent[64];
static uint16_t twin_send(uint16_t port, uint16_t queue, struct rte_mbuf **packets, uint16_t count)
{
	uint16_t at;

	(void)queue;
	for (at = 0; at < count; at++) {
		sent[port]++;
		rte_pktmbuf_free(packets[at]);
	}
	return count;
}
#define rte_eth_tx_burst twin_send
#undef RTE_INIT
#define RTE_INIT(name) static void name(void)
#include "router.c"

int main(void)
{
	char *words[] = {"twin", "--no-huge", "--no-pci", "-m", "256", "-l", "0", "--no-shconf", "--log-level=1", NULL};
	struct rte_mempool *pool;
	uint32_t length;

	if (rte_eal_init(RTE_DIM(words) - 1, words) < 0)
		return 1;
	pool = rte_pktmbuf_pool_create("packets", 63, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (!pool)
		return 2;
	start();
	while (fread(&length, 4, 1, stdin) == 1) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(pool);

		if (!m || fread(rte_pktmbuf_append(m, (uint16_t)length), 1, length, stdin) != length)
			return 3;
		route(&m, 1);
	}
	printf("%lu %lu %lu %lu %lu %d\n", sent[1], sent[2], sent[3], dropped[0], dropped[1], rte_hash_count(table));
	return 0;
}
