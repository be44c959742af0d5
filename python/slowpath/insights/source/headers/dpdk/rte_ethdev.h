/* Ports: sent packets are counted; received packets come from the trace. */
#ifndef SLOWPATH_DPDK_ETHDEV_H
#define SLOWPATH_DPDK_ETHDEV_H
#include <rte_string_fns.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_eth_ports.h>
#include <rte_ip.h>
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
/* Cards send at once, without a buffer. */
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
/* For a function with its own receive loop: the callback that delivers packets (it returns -1 when none is left), and
 * the jump out of the loop. Other functions get packets one by one, and receive none. */
#ifndef SLOWPATH_BURST
#define SLOWPATH_BURST 32 /* at most SLOWPATH_TURNS */
#endif
SLOWPATH_C SLOWPATH_ONE int32_t (*slowpath_dpdk_poll)(struct rte_mbuf **packets, uint32_t most) = 0;
SLOWPATH_C SLOWPATH_ONE uint64_t slowpath_dpdk_back[64] __attribute__((aligned(16))) = {0}; /* a jmp_buf */
SLOWPATH_C __attribute__((weak, returns_twice)) int slowpath_xdp_mark(void *here);
SLOWPATH_C __attribute__((weak, noreturn)) void slowpath_xdp_return(void *there, int result);

/* Calls a function with at most five parameters; returns true if a jump ended it. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) int32_t slowpath_dpdk_loop(
	void (*function)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t), const uint64_t *given)
{
	if (slowpath_xdp_mark(slowpath_dpdk_back))
		return 1;
	function(given[0], given[1], given[2], given[3], given[4]);
	return 0;
}
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) uint16_t slowpath_dpdk_received(uint16_t port, struct rte_mbuf **packets,
										  uint16_t count)
{
	uint32_t most = RTE_MIN((uint32_t)count, (uint32_t)RTE_MIN(SLOWPATH_BURST, SLOWPATH_TURNS));
	int32_t at, found = slowpath_dpdk_poll ? slowpath_dpdk_poll(packets, most) : 0;

	if (found < 0)
		slowpath_xdp_return(slowpath_dpdk_back, 1);
	for (at = 0; at < found; at++)
		packets[at]->port = port;
	return (uint16_t)found;
}
SLOWPATH_KEPT uint16_t rte_eth_rx_burst(uint16_t port, uint16_t queue, struct rte_mbuf **packets, uint16_t count)
{
	(void)queue;
	return slowpath_dpdk_received(port, packets, count);
}
SLOWPATH_INLINE int rte_eth_tx_buffer_init(struct rte_eth_dev_tx_buffer *buffer, uint16_t size)
{
	buffer->size = size;
	buffer->length = 0;
	return 0;
}
typedef void (*buffer_tx_error_fn)(struct rte_mbuf **unsent, uint16_t count, void *given);
/* All packets are sent, so this is never called. */
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
/* Stores the callback, so that the module shows which functions are callbacks. */
SLOWPATH_C SLOWPATH_ONE buffer_tx_error_fn slowpath_dpdk_called_back = 0;
SLOWPATH_KEPT int rte_eth_tx_buffer_set_err_callback(struct rte_eth_dev_tx_buffer *buffer, buffer_tx_error_fn called,
						     void *given)
{
	(void)buffer, (void)given;
	slowpath_dpdk_called_back = called;
	return 0;
}
#define RTE_ETH_TX_BUFFER_SIZE(most) (sizeof(struct rte_eth_dev_tx_buffer) + (most) * sizeof(struct rte_mbuf *))
#endif
