/* IPv4 in a separate header, as in DPDK 24.11 and later. */
#ifndef SLOWPATH_DPDK_IP4_H
#define SLOWPATH_DPDK_IP4_H
#include <rte_ip.h>
#endif
