/* Copies. */
#ifndef SLOWPATH_DPDK_MEMCPY_H
#define SLOWPATH_DPDK_MEMCPY_H
#include <rte_common.h>
#define rte_memcpy(to, from, size) memcpy(to, from, size)
SLOWPATH_INLINE void rte_mov16(uint8_t *to, const uint8_t *from) { memcpy(to, from, 16); }
SLOWPATH_INLINE void rte_mov32(uint8_t *to, const uint8_t *from) { memcpy(to, from, 32); }
SLOWPATH_INLINE void rte_mov64(uint8_t *to, const uint8_t *from) { memcpy(to, from, 64); }
#endif
