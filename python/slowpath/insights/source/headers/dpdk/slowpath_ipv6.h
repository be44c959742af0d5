/* An IPv6 address as DPDK passes it and as packets have it: a structure since 24.11, a byte array before. */
#ifndef SLOWPATH_DPDK_IPV6_H
#define SLOWPATH_DPDK_IPV6_H
#include <stdint.h>

struct rte_ipv6_addr {
	uint8_t a[16];
};
#ifdef SLOWPATH_DPDK_IPV6
typedef struct rte_ipv6_addr slowpath_ipv6, slowpath_ipv6_row;
#else
typedef uint8_t slowpath_ipv6, slowpath_ipv6_row[16];
#endif
#endif
