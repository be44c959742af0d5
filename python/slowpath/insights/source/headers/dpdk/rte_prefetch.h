/* Prefetching, which cards without caches ignore. */
#ifndef SLOWPATH_DPDK_PREFETCH_H
#define SLOWPATH_DPDK_PREFETCH_H
#include <rte_common.h>
SLOWPATH_INLINE void rte_prefetch0(const volatile void *at) { (void)at; }
SLOWPATH_INLINE void rte_prefetch1(const volatile void *at) { (void)at; }
SLOWPATH_INLINE void rte_prefetch2(const volatile void *at) { (void)at; }
SLOWPATH_INLINE void rte_prefetch_non_temporal(const volatile void *at) { (void)at; }
#endif
