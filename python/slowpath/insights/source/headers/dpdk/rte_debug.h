/* Ends the run. */
#ifndef SLOWPATH_DPDK_DEBUG_H
#define SLOWPATH_DPDK_DEBUG_H
#include <rte_log.h>
#define rte_panic(...) __builtin_trap()
#endif
