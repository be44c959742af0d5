/* See rte_eventdev.h. */
#ifndef SLOWPATH_DPDK_EVENT_TX_H
#define SLOWPATH_DPDK_EVENT_TX_H
#include <rte_ethdev.h>
#include <rte_eventdev.h>
SLOWPATH_C void rte_event_eth_tx_adapter_txq_set(struct rte_mbuf *m, uint16_t queue);
SLOWPATH_C uint16_t rte_event_eth_tx_adapter_enqueue(uint8_t device, uint8_t port, struct rte_event *events, uint16_t count,
						     uint8_t flags);
#endif
