/* Error code of the last failed call. */
#ifndef SLOWPATH_DPDK_ERRNO_H
#define SLOWPATH_DPDK_ERRNO_H
#include <rte_common.h>
SLOWPATH_C SLOWPATH_ONE int slowpath_dpdk_errno = 0;
#define rte_errno slowpath_dpdk_errno
SLOWPATH_INLINE const char *rte_strerror(int code) { (void)code; return "an error"; }
#endif
