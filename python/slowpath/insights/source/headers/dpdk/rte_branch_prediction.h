/* Hints for branch prediction. */
#ifndef SLOWPATH_DPDK_BRANCH_PREDICTION_H
#define SLOWPATH_DPDK_BRANCH_PREDICTION_H
#ifndef likely
#define likely(x) __builtin_expect(!!(x), 1)
#endif
#ifndef unlikely
#define unlikely(x) __builtin_expect(!!(x), 0)
#endif
#endif
