/* Waiting, which takes no time here. */
#ifndef SLOWPATH_DPDK_PAUSE_H
#define SLOWPATH_DPDK_PAUSE_H
#include <rte_common.h>
SLOWPATH_INLINE void rte_pause(void) { }
#endif
