/* Time: the capture time of the packet, as a clock of 1 GHz. */
#ifndef SLOWPATH_DPDK_CYCLES_H
#define SLOWPATH_DPDK_CYCLES_H
#include <rte_common.h>
#define MS_PER_S 1000
#define US_PER_S 1000000
#define NS_PER_S 1000000000
SLOWPATH_INLINE uint64_t rte_rdtsc(void) { return slowpath_dpdk_now; }
SLOWPATH_INLINE uint64_t rte_rdtsc_precise(void) { return slowpath_dpdk_now; }
SLOWPATH_INLINE uint64_t rte_get_tsc_cycles(void) { return slowpath_dpdk_now; }
SLOWPATH_INLINE uint64_t rte_get_timer_cycles(void) { return slowpath_dpdk_now; }
SLOWPATH_INLINE uint64_t rte_get_tsc_hz(void) { return NS_PER_S; }
SLOWPATH_INLINE uint64_t rte_get_timer_hz(void) { return NS_PER_S; }
SLOWPATH_C void rte_delay_ms(unsigned time);
SLOWPATH_C void rte_delay_us(unsigned time);
#endif
