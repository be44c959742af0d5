/* See rte_spinlock.h. */
#ifndef SLOWPATH_DPDK_RWLOCK_H
#define SLOWPATH_DPDK_RWLOCK_H
#include <rte_common.h>
typedef struct { int locked; } rte_rwlock_t;
#define RTE_RWLOCK_INITIALIZER { 0 }
SLOWPATH_INLINE void rte_rwlock_init(rte_rwlock_t *lock) { (void)lock; }
SLOWPATH_INLINE void rte_rwlock_read_lock(rte_rwlock_t *lock) { (void)lock; }
SLOWPATH_INLINE void rte_rwlock_read_unlock(rte_rwlock_t *lock) { (void)lock; }
SLOWPATH_INLINE void rte_rwlock_write_lock(rte_rwlock_t *lock) { (void)lock; }
SLOWPATH_INLINE void rte_rwlock_write_unlock(rte_rwlock_t *lock) { (void)lock; }
#endif
