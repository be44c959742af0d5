/* Properties of memory. */
#ifndef SLOWPATH_DPDK_MEMORY_H
#define SLOWPATH_DPDK_MEMORY_H
#include <rte_common.h>
#endif
