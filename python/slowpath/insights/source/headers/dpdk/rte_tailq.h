/* Included by applications; nothing of it is work for packets. */
#ifndef SLOWPATH_DPDK_TAILQ_H
#define SLOWPATH_DPDK_TAILQ_H
#include <rte_common.h>
#endif
