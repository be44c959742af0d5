/* Locks, which are always free because packets run one after the other. */
#ifndef SLOWPATH_DPDK_SPINLOCK_H
#define SLOWPATH_DPDK_SPINLOCK_H
#include <rte_pause.h>
typedef struct { int locked; } rte_spinlock_t;
#define RTE_SPINLOCK_INITIALIZER { 0 }
SLOWPATH_INLINE void rte_spinlock_init(rte_spinlock_t *lock) { (void)lock; }
SLOWPATH_INLINE void rte_spinlock_lock(rte_spinlock_t *lock) { (void)lock; }
SLOWPATH_INLINE void rte_spinlock_unlock(rte_spinlock_t *lock) { (void)lock; }
SLOWPATH_INLINE int rte_spinlock_trylock(rte_spinlock_t *lock) { (void)lock; return 1; }
SLOWPATH_INLINE int rte_spinlock_is_locked(rte_spinlock_t *lock) { (void)lock; return 0; }
#endif
