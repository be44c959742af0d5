/* Basics for all headers in the style of DPDK: macros, and counters of the run. Written from DPDK's documentation of
 * its interface (22.11). Functions with the prefix `slowpath_dpdk_` do not count as work of the card. */
#ifndef SLOWPATH_DPDK_COMMON_H
#define SLOWPATH_DPDK_COMMON_H
#include <rte_config.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#ifndef __cplusplus
#include <stdalign.h>
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rte_branch_prediction.h>

#ifdef __cplusplus
#define SLOWPATH_C extern "C"
#else
#define SLOWPATH_C
#endif
/* Accessors are inlined, as on a card; tables are separate functions. */
#define SLOWPATH_INLINE static inline __attribute__((always_inline, unused))
#define SLOWPATH_KEPT static __attribute__((noinline, unused))
#define SLOWPATH_LOOP _Pragma("clang loop unroll(disable) vectorize(disable)")
#define SLOWPATH_ONE __attribute__((weak, used))

#define __rte_always_inline inline __attribute__((always_inline))
#define __rte_noinline __attribute__((noinline))
#define __rte_unused __attribute__((unused))
#define __rte_packed __attribute__((packed))
#define __rte_packed_begin
#define __rte_packed_end __rte_packed
#define __rte_aligned(x) __attribute__((aligned(x)))
#define __rte_cache_aligned __rte_aligned(RTE_CACHE_LINE_SIZE)
#define __rte_cache_min_aligned __rte_aligned(RTE_CACHE_LINE_MIN_SIZE)
#define __rte_noreturn __attribute__((noreturn))
#define __rte_weak __attribute__((weak))
#define __rte_used __attribute__((used))
#define __rte_hot __attribute__((hot))
#define __rte_cold __attribute__((cold))
#define __rte_restrict __restrict
#define __rte_format_printf(format, first) __attribute__((format(printf, format, first)))
#define __rte_may_alias __attribute__((may_alias))
#define __rte_deprecated
#define __rte_experimental
#define __rte_internal

/* Declares a function that runs before the first packet. */
#define RTE_PRIORITY_LAST 65535
#define RTE_INIT(name) static void __attribute__((constructor, used)) name(void)
#define RTE_INIT_PRIO(name, priority) RTE_INIT(name)
#define RTE_FINI(name) static void __attribute__((unused)) name(void)

#define RTE_SET_USED(x) ((void)(x))
#define RTE_DIM(a) (sizeof(a) / sizeof((a)[0]))
#define RTE_MIN(a, b) __extension__({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define RTE_MAX(a, b) __extension__({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define RTE_SWAP(a, b) __extension__({ __typeof__(a) a_ = (a); (a) = (b); (b) = a_; })
#define RTE_STR(x) #x
#define RTE_PTR_ADD(at, x) ((void *)((uintptr_t)(at) + (x)))
#define RTE_PTR_SUB(at, x) ((void *)((uintptr_t)(at) - (x)))
#define RTE_PTR_DIFF(one, other) ((uintptr_t)(one) - (uintptr_t)(other))
#define RTE_ALIGN_FLOOR(x, to) ((__typeof__(x))((x) & ~((__typeof__(x))((to) - 1))))
#define RTE_ALIGN_CEIL(x, to) RTE_ALIGN_FLOOR(((x) + ((__typeof__(x))(to) - 1)), to)
#define RTE_ALIGN(x, to) RTE_ALIGN_CEIL(x, to)
#define RTE_BUILD_BUG_ON(x) ((void)sizeof(char[1 - 2 * !!(x)]))
#define RTE_BIT32(n) (UINT32_C(1) << (n))
#define RTE_LEN2MASK(bits, type) ((type)((uint64_t)-1 >> (sizeof(uint64_t) * 8 - (bits))))
#define RTE_BIT64(n) (UINT64_C(1) << (n))
#define RTE_ASSERT(x) ((void)0)
#define RTE_VERIFY(x) ((x) ? (void)0 : __builtin_trap())
#define RTE_CACHE_LINE_ROUNDUP(x) RTE_ALIGN_CEIL(x, RTE_CACHE_LINE_SIZE)
#ifndef container_of
#define container_of(at, type, member) ((type *)((uintptr_t)(at)-offsetof(type, member)))
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif

typedef uint64_t rte_iova_t;
typedef struct {
	volatile uint8_t value;
} slowpath_dpdk_nothing;

SLOWPATH_INLINE int rte_is_power_of_2(uint32_t x) { return x && !(x & (x - 1)); }
SLOWPATH_INLINE uint32_t rte_align32pow2(uint32_t x) { return x < 2 ? x : 1u << (32 - __builtin_clz(x - 1)); }
SLOWPATH_INLINE uint64_t rte_align64pow2(uint64_t x) { return x < 2 ? x : 1ull << (64 - __builtin_clzll(x - 1)); }
SLOWPATH_INLINE uint32_t rte_bsf32(uint32_t x) { return (uint32_t)__builtin_ctz(x); }
SLOWPATH_INLINE uint32_t rte_log2_u32(uint32_t x) { return x < 2 ? 0 : 32 - (uint32_t)__builtin_clz(x - 1); }

#define SLOWPATH_PORTS 64
struct slowpath_dpdk_counts {
	uint64_t sent[SLOWPATH_PORTS];
	uint64_t killed;  /* packets that were freed */
	uint64_t made;    /* packets that the function allocated or copied */
	uint64_t refused; /* entries that found no free slot */
	uint64_t evicted;
	uint64_t unmade;  /* packets that could not be created for lack of a buffer */
	const char *said;
	uint64_t again; /* packets that were sent or freed again after they were gone */
};
SLOWPATH_C SLOWPATH_ONE struct slowpath_dpdk_counts slowpath_dpdk_totals = {{0}, 0, 0, 0, 0, 0, 0, 0};
SLOWPATH_C SLOWPATH_ONE uint64_t slowpath_dpdk_now = 0;  /* nanoseconds since 1970 */
SLOWPATH_C SLOWPATH_ONE uint64_t slowpath_dpdk_seed = 1;

/* Undefined functions whose calls end the run; slowpath has a message for each. */
SLOWPATH_C void slowpath_dpdk_no_such_output(void) __attribute__((noreturn));
SLOWPATH_C void slowpath_dpdk_key_is_too_long(void) __attribute__((noreturn));
SLOWPATH_C void rte_exit(int code, const char *format, ...) __attribute__((noreturn));
#endif
