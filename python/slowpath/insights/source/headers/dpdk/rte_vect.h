/* Types for vectors of 16 and 32 bytes. Cards lack vector units, so RTE_ARCH_X86 is undefined, and applications use
 * other code. */
#ifndef SLOWPATH_DPDK_VECT_H
#define SLOWPATH_DPDK_VECT_H
#include <rte_config.h>
#include <stdint.h>

#define RTE_VECT_DEFAULT_SIMD_BITWIDTH RTE_VECT_SIMD_DISABLED
enum rte_vect_max_simd {
	RTE_VECT_SIMD_DISABLED = 64,
	RTE_VECT_SIMD_128 = 128,
	RTE_VECT_SIMD_256 = 256,
	RTE_VECT_SIMD_512 = 512,
	RTE_VECT_SIMD_MAX = INT16_MAX + 1
};

#define SLOWPATH_ELEMENTS(bits, width) \
	typedef uint##width##_t rte_v##bits##u##width##_t __attribute__((vector_size(bits / 8), aligned(bits / 8))); \
	typedef int##width##_t rte_v##bits##s##width##_t __attribute__((vector_size(bits / 8), aligned(bits / 8)));
#define SLOWPATH_VECTORS(bits) \
	SLOWPATH_ELEMENTS(bits, 8) SLOWPATH_ELEMENTS(bits, 16) SLOWPATH_ELEMENTS(bits, 32)
SLOWPATH_VECTORS(64)
SLOWPATH_VECTORS(128)
SLOWPATH_VECTORS(256)
SLOWPATH_ELEMENTS(128, 64)
SLOWPATH_ELEMENTS(256, 64)

typedef long long xmm_t __attribute__((vector_size(16)));
/* Functions that applications use if the compiler knows SSE2, even without RTE_ARCH_X86. */
#if defined(__SSE2__) && !defined(__EMMINTRIN_H)
typedef xmm_t __m128i;
typedef xmm_t slowpath_anywhere __attribute__((aligned(1), may_alias));
static inline __attribute__((always_inline, unused)) xmm_t _mm_loadu_si128(const void *at)
{
	return *(const slowpath_anywhere *)at;
}
static inline __attribute__((always_inline, unused)) void _mm_storeu_si128(void *at, xmm_t x)
{
	*(slowpath_anywhere *)at = x;
}
static inline __attribute__((always_inline, unused)) xmm_t _mm_and_si128(xmm_t a, xmm_t b) { return a & b; }
#endif
#define XMM_SIZE (sizeof(xmm_t))
#define XMM_MASK (XMM_SIZE - 1)
typedef union rte_xmm {
	xmm_t x;
	uint8_t u8[XMM_SIZE / sizeof(uint8_t)];
	uint16_t u16[XMM_SIZE / sizeof(uint16_t)];
	uint32_t u32[XMM_SIZE / sizeof(uint32_t)];
	uint64_t u64[XMM_SIZE / sizeof(uint64_t)];
	double pd[XMM_SIZE / sizeof(double)];
} rte_xmm_t;

static inline __attribute__((always_inline, unused)) uint16_t rte_vect_get_max_simd_bitwidth(void)
{
	return RTE_VECT_DEFAULT_SIMD_BITWIDTH;
}
#endif
