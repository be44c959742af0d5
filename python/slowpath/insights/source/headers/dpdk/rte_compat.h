/* Included by applications; nothing of it is work for packets. */
#ifndef SLOWPATH_DPDK_COMPAT_H
#define SLOWPATH_DPDK_COMPAT_H
#include <rte_common.h>
#endif
