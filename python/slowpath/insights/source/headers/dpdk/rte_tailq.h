/* Empty; applications include it, but packets do not need it. */
#ifndef SLOWPATH_DPDK_TAILQ_H
#define SLOWPATH_DPDK_TAILQ_H
#include <rte_common.h>
#endif
