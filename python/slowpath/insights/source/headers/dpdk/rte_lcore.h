/* A run has one core. */
#ifndef SLOWPATH_DPDK_LCORE_H
#define SLOWPATH_DPDK_LCORE_H
#include <rte_common.h>
#include <rte_launch.h>
#include <rte_per_lcore.h>
#define LCORE_ID_ANY UINT32_MAX
#define SOCKET_ID_ANY -1
SLOWPATH_INLINE unsigned rte_lcore_id(void) { return 0; }
SLOWPATH_INLINE unsigned rte_get_main_lcore(void) { return 0; }
SLOWPATH_INLINE unsigned rte_lcore_count(void) { return 1; }
SLOWPATH_INLINE int rte_lcore_index(int lcore) { return lcore <= 0 ? 0 : -1; }
SLOWPATH_INLINE int rte_lcore_is_enabled(unsigned lcore) { return lcore == 0; }
SLOWPATH_INLINE unsigned rte_get_next_lcore(unsigned at, int skip_main, int wrap)
{
	(void)skip_main, (void)wrap;
	return at == LCORE_ID_ANY && !skip_main ? 0 : RTE_MAX_LCORE;
}
#define SLOWPATH_CORES(at, skip) \
	for (at = rte_get_next_lcore(LCORE_ID_ANY, skip, 0); at < RTE_MAX_LCORE; at = rte_get_next_lcore(at, skip, 0))
#define RTE_LCORE_FOREACH(at) SLOWPATH_CORES(at, 0)
#define RTE_LCORE_FOREACH_WORKER(at) SLOWPATH_CORES(at, 1)
SLOWPATH_INLINE unsigned rte_socket_id(void) { return 0; }
SLOWPATH_INLINE unsigned rte_lcore_to_socket_id(unsigned lcore) { (void)lcore; return 0; }
#endif
