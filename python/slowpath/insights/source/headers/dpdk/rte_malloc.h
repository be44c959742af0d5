/* Memory allocation, which cards lack; the report mentions it. */
#ifndef SLOWPATH_DPDK_MALLOC_H
#define SLOWPATH_DPDK_MALLOC_H
#include <rte_common.h>
SLOWPATH_INLINE void *rte_malloc(const char *type, size_t size, unsigned align) { (void)type, (void)align; return malloc(size); }
SLOWPATH_INLINE void *rte_zmalloc(const char *type, size_t size, unsigned align) { (void)type, (void)align; return calloc(1, size); }
SLOWPATH_INLINE void *rte_calloc(const char *type, size_t count, size_t size, unsigned align) { (void)type, (void)align; return calloc(count, size); }
SLOWPATH_INLINE void *rte_malloc_socket(const char *type, size_t size, unsigned align, int socket) { (void)socket; return rte_malloc(type, size, align); }
SLOWPATH_INLINE void *rte_zmalloc_socket(const char *type, size_t size, unsigned align, int socket) { (void)socket; return rte_zmalloc(type, size, align); }
SLOWPATH_INLINE void rte_free(void *at) { free(at); }
#endif
