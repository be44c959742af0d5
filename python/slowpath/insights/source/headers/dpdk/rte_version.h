/* The DPDK release whose interface these headers have. */
#ifndef SLOWPATH_DPDK_VERSION_H
#define SLOWPATH_DPDK_VERSION_H
#define RTE_VER_YEAR 22
#define RTE_VER_MONTH 11
#define RTE_VER_MINOR 0
#define RTE_VER_RELEASE 99
#define RTE_VERSION_NUM(a, b, c, d) ((a) << 24 | (b) << 16 | (c) << 8 | (d))
#define RTE_VERSION RTE_VERSION_NUM(RTE_VER_YEAR, RTE_VER_MONTH, RTE_VER_MINOR, RTE_VER_RELEASE)
#endif
