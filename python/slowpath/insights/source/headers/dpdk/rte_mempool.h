/* The pool of packets: the buffers of these headers. */
#ifndef SLOWPATH_DPDK_MEMPOOL_H
#define SLOWPATH_DPDK_MEMPOOL_H
#include <rte_common.h>
#include <rte_debug.h>
#include <rte_lcore.h>
#include <rte_memcpy.h>
#include <rte_spinlock.h>
struct rte_mempool {
	const char *name;
	uint32_t size;
};
#define RTE_MEMPOOL_NAMESIZE 26
SLOWPATH_C struct rte_mempool *rte_mempool_lookup(const char *name);
#endif
