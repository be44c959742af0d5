/* Integers that several cores change. */
#ifndef SLOWPATH_DPDK_ATOMIC_H
#define SLOWPATH_DPDK_ATOMIC_H
#include <rte_common.h>
#define rte_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define rte_wmb() __atomic_thread_fence(__ATOMIC_RELEASE)
#define rte_rmb() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define rte_smp_mb() rte_mb()
#define rte_smp_wmb() rte_wmb()
#define rte_smp_rmb() rte_rmb()
#define rte_compiler_barrier() __atomic_signal_fence(__ATOMIC_SEQ_CST)
#define SLOWPATH_ATOMIC(bits, type) \
	typedef struct { volatile type cnt; } rte_atomic##bits##_t; \
	SLOWPATH_INLINE void rte_atomic##bits##_init(rte_atomic##bits##_t *v) { v->cnt = 0; } \
	SLOWPATH_INLINE void rte_atomic##bits##_clear(rte_atomic##bits##_t *v) { v->cnt = 0; } \
	SLOWPATH_INLINE type rte_atomic##bits##_read(const rte_atomic##bits##_t *v) { return v->cnt; } \
	SLOWPATH_INLINE void rte_atomic##bits##_set(rte_atomic##bits##_t *v, type x) { v->cnt = x; } \
	SLOWPATH_INLINE void rte_atomic##bits##_add(rte_atomic##bits##_t *v, type x) { __atomic_fetch_add(&v->cnt, x, __ATOMIC_SEQ_CST); } \
	SLOWPATH_INLINE void rte_atomic##bits##_sub(rte_atomic##bits##_t *v, type x) { __atomic_fetch_sub(&v->cnt, x, __ATOMIC_SEQ_CST); } \
	SLOWPATH_INLINE void rte_atomic##bits##_inc(rte_atomic##bits##_t *v) { rte_atomic##bits##_add(v, 1); } \
	SLOWPATH_INLINE void rte_atomic##bits##_dec(rte_atomic##bits##_t *v) { rte_atomic##bits##_sub(v, 1); } \
	SLOWPATH_INLINE type rte_atomic##bits##_add_return(rte_atomic##bits##_t *v, type x) { return (type)__atomic_add_fetch(&v->cnt, x, __ATOMIC_SEQ_CST); } \
	SLOWPATH_INLINE type rte_atomic##bits##_sub_return(rte_atomic##bits##_t *v, type x) { return (type)__atomic_sub_fetch(&v->cnt, x, __ATOMIC_SEQ_CST); } \
	SLOWPATH_INLINE int rte_atomic##bits##_inc_and_test(rte_atomic##bits##_t *v) { return rte_atomic##bits##_add_return(v, 1) == 0; } \
	SLOWPATH_INLINE int rte_atomic##bits##_dec_and_test(rte_atomic##bits##_t *v) { return rte_atomic##bits##_sub_return(v, 1) == 0; }
SLOWPATH_ATOMIC(16, int16_t)
SLOWPATH_ATOMIC(32, int32_t)
SLOWPATH_ATOMIC(64, int64_t)
#define RTE_ATOMIC16_INIT(x) { (x) }
#define RTE_ATOMIC32_INIT(x) { (x) }
#define RTE_ATOMIC64_INIT(x) { (x) }
#endif
