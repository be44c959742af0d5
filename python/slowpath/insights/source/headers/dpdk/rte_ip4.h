/* As DPDK 24.11 and later have it: IPv4 by itself. */
#ifndef SLOWPATH_DPDK_IP4_H
#define SLOWPATH_DPDK_IP4_H
#include <rte_ip.h>
#endif
