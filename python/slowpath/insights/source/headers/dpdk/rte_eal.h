/* Start of an application, which packets do not need: declarations without definitions. */
#ifndef SLOWPATH_DPDK_EAL_H
#define SLOWPATH_DPDK_EAL_H
#include <rte_common.h>
SLOWPATH_C int rte_eal_init(int argc, char **argv);
SLOWPATH_C int rte_eal_cleanup(void);
enum rte_proc_type_t { RTE_PROC_AUTO = -1, RTE_PROC_PRIMARY = 0, RTE_PROC_SECONDARY, RTE_PROC_INVALID };
SLOWPATH_C enum rte_proc_type_t rte_eal_process_type(void);
#endif
