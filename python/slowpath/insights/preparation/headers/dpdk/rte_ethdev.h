/* Ports: what is sent is counted; nothing is received but from the trace. */
#ifndef SLOWPATH_DPDK_ETHDEV_H
#define SLOWPATH_DPDK_ETHDEV_H
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_eth_ports.h>
#include <rte_log.h>
#include <rte_mbuf.h>

struct rte_eth_dev_tx_buffer {
	uint16_t size, length;
	struct rte_mbuf *pkts[];
};

SLOWPATH_KEPT uint16_t rte_eth_tx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **packets, uint16_t count)
{
	uint16_t at;

	(void)queue;
	if (port >= SLOWPATH_PORTS)
		slowpath_dpdk_no_such_output();
	SLOWPATH_LOOP for (at = 0; at < count; at++) {
		slowpath_dpdk_totals.sent[port]++;
		slowpath_dpdk_all_gone(packets[at]);
	}
	return count;
}
/* Cards send at once. */
SLOWPATH_INLINE uint16_t rte_eth_tx_buffer(uint16_t port, uint16_t queue, struct rte_eth_dev_tx_buffer *buffer,
					   struct rte_mbuf *m)
{
	(void)buffer;
	return rte_eth_tx_burst(port, queue, &m, 1);
}
SLOWPATH_INLINE uint16_t rte_eth_tx_buffer_flush(uint16_t port, uint16_t queue, struct rte_eth_dev_tx_buffer *buffer)
{
	(void)port, (void)queue, (void)buffer;
	return 0;
}
SLOWPATH_INLINE uint16_t rte_eth_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **packets, uint16_t count)
{
	(void)port, (void)queue, (void)packets, (void)count;
	return 0;
}
SLOWPATH_INLINE int rte_eth_tx_buffer_init(struct rte_eth_dev_tx_buffer *buffer, uint16_t size)
{
	buffer->size = size;
	buffer->length = 0;
	return 0;
}
typedef void (*buffer_tx_error_fn)(struct rte_mbuf **unsent, uint16_t count, void *given);
/* All is sent, so that nothing is ever unsent. */
SLOWPATH_INLINE void rte_eth_tx_buffer_drop_callback(struct rte_mbuf **unsent, uint16_t count, void *given)
{
	(void)given;
	rte_pktmbuf_free_bulk(unsent, count);
}
SLOWPATH_INLINE void rte_eth_tx_buffer_count_callback(struct rte_mbuf **unsent, uint16_t count, void *given)
{
	*(uint64_t *)given += count;
	rte_pktmbuf_free_bulk(unsent, count);
}
SLOWPATH_INLINE int rte_eth_tx_buffer_set_err_callback(struct rte_eth_dev_tx_buffer *buffer, buffer_tx_error_fn called,
						       void *given)
{
	(void)buffer, (void)called, (void)given;
	return 0;
}
#define RTE_ETH_TX_BUFFER_SIZE(most) (sizeof(struct rte_eth_dev_tx_buffer) + (most) * sizeof(struct rte_mbuf *))
#endif
