/* See rte_eventdev.h. */
#ifndef SLOWPATH_DPDK_EVENT_RX_H
#define SLOWPATH_DPDK_EVENT_RX_H
#include <rte_ethdev.h>
#include <rte_eventdev.h>
#endif
