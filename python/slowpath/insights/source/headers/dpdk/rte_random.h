/* The same pseudo-random numbers in each run (xorshift64*). */
#ifndef SLOWPATH_DPDK_RANDOM_H
#define SLOWPATH_DPDK_RANDOM_H
#include <rte_common.h>
SLOWPATH_INLINE uint64_t rte_rand(void)
{
	uint64_t x = slowpath_dpdk_seed;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	slowpath_dpdk_seed = x;
	return x * UINT64_C(0x2545F4914F6CDD1D);
}
SLOWPATH_INLINE uint64_t rte_rand_max(uint64_t below) { return below ? rte_rand() % below : 0; }
SLOWPATH_INLINE void rte_srand(uint64_t seed) { slowpath_dpdk_seed = seed ? seed : 1; }
#endif
