/* What starts an application, which is no work for packets: declared, not there. */
#ifndef SLOWPATH_DPDK_EAL_H
#define SLOWPATH_DPDK_EAL_H
#include <rte_common.h>
SLOWPATH_C int rte_eal_init(int argc, char **argv);
SLOWPATH_C int rte_eal_cleanup(void);
#endif
