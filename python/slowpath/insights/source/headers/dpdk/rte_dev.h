/* Empty; applications include it, but packets do not need it. */
#ifndef SLOWPATH_DPDK_DEV_H
#define SLOWPATH_DPDK_DEV_H
#include <rte_common.h>
struct rte_device;
SLOWPATH_C const char *rte_dev_name(const struct rte_device *device);
#endif
