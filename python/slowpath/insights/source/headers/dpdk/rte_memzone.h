/* Memory shared by processes, which a run lacks: declarations without definitions. */
#ifndef SLOWPATH_DPDK_MEMZONE_H
#define SLOWPATH_DPDK_MEMZONE_H
#include <rte_common.h>
#define RTE_MEMZONE_NAMESIZE 32
struct rte_memzone {
	char name[RTE_MEMZONE_NAMESIZE];
	rte_iova_t iova;
	void *addr;
	size_t len;
};
SLOWPATH_C const struct rte_memzone *rte_memzone_reserve(const char *name, size_t size, int socket, unsigned flags);
SLOWPATH_C const struct rte_memzone *rte_memzone_lookup(const char *name);
#endif
