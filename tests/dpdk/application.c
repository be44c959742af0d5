/* An application as they are: ports are set up, cores poll, and one function has the packets of a burst. */
#include <getopt.h>
#include <signal.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_ring.h>
#include <rte_string_fns.h>
#include <rte_version.h>

#define BURST 32
static uint64_t received[RTE_MAX_ETHPORTS];
static volatile bool stopped;
static const struct rte_eth_conf usual = {
	.rxmode = {.mq_mode = RTE_ETH_MQ_RX_RSS, .offloads = RTE_ETH_RX_OFFLOAD_CHECKSUM},
	.rx_adv_conf = {.rss_conf = {.rss_key = NULL, .rss_hf = RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP}},
	.txmode = {.mq_mode = RTE_ETH_MQ_TX_NONE},
};

static int set_up(uint16_t port, struct rte_mempool *pool)
{
	uint16_t receiving = 1024, sending = 1024;
	struct rte_eth_conf asked = usual;
	struct rte_eth_dev_info info;
	struct rte_eth_txconf queue;
	struct rte_ether_addr address;
	int failed;

	if (!rte_eth_dev_is_valid_port(port) || rte_eth_dev_info_get(port, &info))
		return -1;
	if (info.tx_offload_capa & RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE)
		asked.txmode.offloads |= RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
	queue = info.default_txconf;
	queue.offloads = asked.txmode.offloads;
	failed = rte_eth_dev_configure(port, 1, 1, &asked);
	failed |= rte_eth_dev_adjust_nb_rx_tx_desc(port, &receiving, &sending);
	failed |= rte_eth_rx_queue_setup(port, 0, receiving, rte_eth_dev_socket_id(port), NULL, pool);
	failed |= rte_eth_tx_queue_setup(port, 0, sending, rte_eth_dev_socket_id(port), &queue);
	failed |= rte_eth_dev_start(port) | rte_eth_macaddr_get(port, &address);
	printf("port %u: " RTE_ETHER_ADDR_PRT_FMT "\n", port, RTE_ETHER_ADDR_BYTES(&address));
	return failed | rte_eth_promiscuous_enable(port);
}

static __rte_always_inline void turn(struct rte_mbuf *m)
{
	struct rte_ether_hdr *ether = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);

	RTE_SWAP(ether->src_addr, ether->dst_addr);
}

static void forward(uint16_t port, struct rte_mbuf **packets, uint16_t nb_rx)
{
	uint16_t at, sent;

	for (at = 0; at < nb_rx; at++) {
		rte_prefetch0(rte_pktmbuf_mtod(packets[at], void *));
		turn(packets[at]);
		received[port]++;
	}
	sent = rte_eth_tx_burst(port ^ 1, 0, packets, nb_rx);
	if (unlikely(sent < nb_rx))
		rte_pktmbuf_free_bulk(&packets[sent], nb_rx - sent);
}

static int poll(__rte_unused void *nothing)
{
	struct rte_mbuf *packets[BURST];
	uint16_t port, count;

	while (!stopped)
		RTE_ETH_FOREACH_DEV(port) {
			count = rte_eth_rx_burst(port, 0, packets, BURST);
			if (count)
				forward(port, packets, count);
		}
	return 0;
}

static void on_signal(int number) { stopped = number == SIGINT; }

int main(int count, char **words)
{
	struct rte_mempool *pool;
	unsigned core;
	uint16_t port;

	if (rte_eal_init(count, words) < 0)
		rte_exit(EXIT_FAILURE, "no EAL: %s\n", rte_strerror(rte_errno));
	signal(SIGINT, on_signal);
	pool = rte_pktmbuf_pool_create("packets", 8191, 250, 0, RTE_MBUF_DEFAULT_BUF_SIZE, rte_socket_id());
	RTE_ETH_FOREACH_DEV(port)
		if (!pool || set_up(port, pool))
			rte_exit(EXIT_FAILURE, "port %" PRIu16 "\n", port);
	RTE_LCORE_FOREACH_WORKER(core)
		rte_eal_remote_launch(poll, NULL, core);
	poll(NULL);
	return rte_eal_cleanup();
}
