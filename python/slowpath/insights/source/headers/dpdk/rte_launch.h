/* See rte_eal.h. */
#ifndef SLOWPATH_DPDK_LAUNCH_H
#define SLOWPATH_DPDK_LAUNCH_H
#include <rte_eal.h>
typedef int(lcore_function_t)(void *);
SLOWPATH_C int rte_eal_remote_launch(lcore_function_t *function, void *argument, unsigned worker);
SLOWPATH_C int rte_eal_wait_lcore(unsigned worker);
enum rte_rmt_call_main_t { SKIP_MAIN = 0, CALL_MAIN };
SLOWPATH_C int rte_eal_mp_remote_launch(lcore_function_t *function, void *argument, enum rte_rmt_call_main_t main);
SLOWPATH_C void rte_eal_mp_wait_lcore(void);
#endif
