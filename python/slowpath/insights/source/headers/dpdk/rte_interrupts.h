/* Empty; applications include it, but packets do not need it. */
#ifndef SLOWPATH_DPDK_INTERRUPTS_H
#define SLOWPATH_DPDK_INTERRUPTS_H
#include <rte_common.h>
#endif
