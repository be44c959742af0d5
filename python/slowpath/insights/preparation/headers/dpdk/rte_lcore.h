/* There is one core. */
#ifndef SLOWPATH_DPDK_LCORE_H
#define SLOWPATH_DPDK_LCORE_H
#include <rte_common.h>
#include <rte_per_lcore.h>
#define LCORE_ID_ANY UINT32_MAX
#define SOCKET_ID_ANY -1
SLOWPATH_INLINE unsigned rte_lcore_id(void) { return 0; }
SLOWPATH_INLINE unsigned rte_get_main_lcore(void) { return 0; }
SLOWPATH_INLINE unsigned rte_lcore_count(void) { return 1; }
SLOWPATH_INLINE int rte_lcore_index(int lcore) { return lcore <= 0 ? 0 : -1; }
SLOWPATH_INLINE int rte_lcore_is_enabled(unsigned lcore) { return lcore == 0; }
SLOWPATH_INLINE unsigned rte_socket_id(void) { return 0; }
SLOWPATH_INLINE unsigned rte_lcore_to_socket_id(unsigned lcore) { (void)lcore; return 0; }
#endif
