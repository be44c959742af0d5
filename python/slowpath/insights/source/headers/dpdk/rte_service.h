/* See rte_eal.h. */
#ifndef SLOWPATH_DPDK_SERVICE_H
#define SLOWPATH_DPDK_SERVICE_H
#include <rte_common.h>
SLOWPATH_C int32_t rte_service_runstate_set(uint32_t service, uint32_t state);
SLOWPATH_C int32_t rte_service_run_iter_on_app_lcore(uint32_t service, uint32_t alone);
#endif
