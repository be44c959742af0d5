/* Loops that receive packets themselves, as cores of applications run them. */
#include <rte_ethdev.h>
#include <rte_ring.h>

#define BURST 64

struct conf {
	uint16_t ports, burst;
};
static struct conf conf = {2, 4};
uint64_t unset;
static uint64_t received[RTE_MAX_ETHPORTS];
static volatile bool stopped;
static struct rte_ring *queue;
RTE_INIT(started) { queue = rte_ring_create("queue", 1024, SOCKET_ID_ANY, 0); }

static void turn(struct rte_ether_hdr *ether)
{
	RTE_SWAP(ether->src_addr, ether->dst_addr);
}

/* All ports in turns, as long as there is power. */
void all_ports(void)
{
	struct rte_mbuf *packets[BURST];
	uint16_t port, at, count;

	for (;;)
		RTE_ETH_FOREACH_DEV(port) {
			count = rte_eth_rx_burst(port, 0, packets, BURST);
			for (at = 0; at < count; at++) {
				turn(rte_pktmbuf_mtod(packets[at], struct rte_ether_hdr *));
				received[packets[at]->port]++;
			}
			rte_eth_tx_burst(port ^ 1, 0, packets, count);
		}
}

/* As cores are started: with a pointer to what is theirs. */
int of_a_conf(void *given)
{
	struct conf *mine = given;
	struct rte_mbuf *packets[BURST];
	uint16_t at, count;

	while (!stopped) {
		count = rte_eth_rx_burst(mine->ports - 1, 0, packets, mine->burst);
		for (at = 0; at < count; at++)
			rte_pktmbuf_free(packets[at]);
	}
	return 0;
}

/* Stops when it has seen enough. */
int enough(unsigned most)
{
	struct rte_mbuf *packets[8];

	while (received[0] < 20 + most) {
		uint16_t count = rte_eth_rx_burst(0, 0, packets, 8);

		received[0] += count;
		rte_pktmbuf_free_bulk(packets, count);
	}
	return 0;
}

/* Nobody takes anything out of its queue. */
void into_a_queue(void)
{
	struct rte_mbuf *packets[BURST];

	while (!stopped) {
		uint16_t count = rte_eth_rx_burst(0, 0, packets, BURST);

		rte_ring_enqueue_burst(queue, (void **)packets, count, NULL);
	}
}

void has_nothing_to_do(void)
{
	struct rte_mbuf *packets[BURST];

	if (!unset)
		return;
	for (;;)
		rte_pktmbuf_free_bulk(packets, rte_eth_rx_burst(0, 0, packets, BURST));
}

void never_receives(void)
{
	struct rte_mbuf *packets[BURST];

	while (!stopped) {
		received[1]++;
		if (unset)
			rte_pktmbuf_free_bulk(packets, rte_eth_rx_burst(0, 0, packets, BURST));
	}
}

/* Receives what has come, however much. */
void all_at_once(void)
{
	struct rte_mbuf *packets[512];

	for (;;) {
		uint16_t count = rte_eth_rx_burst(0, 0, packets, 512);

		rte_eth_tx_burst(1, 0, packets, count);
	}
}

/* Has much to set up before. */
void takes_long(void)
{
	struct rte_mbuf *packets[8];
	uint32_t spent = 0;

	while (!stopped && ++spent < 70u * 1000 * 1000)
		;
	for (;;)
		rte_pktmbuf_free_bulk(packets, rte_eth_rx_burst(0, 0, packets, 8));
}

/* Receives, and then waits for something that does not come. */
void waits(void)
{
	struct rte_mbuf *packets[8];

	for (;;) {
		rte_pktmbuf_free_bulk(packets, rte_eth_rx_burst(0, 0, packets, 8));
		while (!stopped && ++received[0] > 4)
			received[1]++;
	}
}

void reads_nowhere(void)
{
	struct rte_mbuf *packets[8];

	for (;;) {
		uint16_t count = rte_eth_rx_burst(0, 0, packets, 8);

		received[0] += count;
		if (received[0] > 8)
			received[1] += *rte_pktmbuf_mtod((struct rte_mbuf *)(uintptr_t)unset, uint8_t *);
		rte_pktmbuf_free_bulk(packets, count);
	}
}

int asks_for_none(void)
{
	struct rte_mbuf *packets[8];

	while (!rte_eth_rx_burst(0, 0, packets, 0))
		received[0]++;
	return 0;
}

/* Has its packets from another core. */
int worker(void)
{
	void *packet;

	while (rte_ring_dequeue(queue, &packet))
		received[0]++;
	rte_pktmbuf_free(packet);
	return 0;
}
