/* Byte order; both cards and this machine are little-endian. */
#ifndef SLOWPATH_DPDK_BYTEORDER_H
#define SLOWPATH_DPDK_BYTEORDER_H
#include <rte_common.h>
typedef uint16_t rte_be16_t, rte_le16_t;
typedef uint32_t rte_be32_t, rte_le32_t;
typedef uint64_t rte_be64_t, rte_le64_t;
#define RTE_BIG_ENDIAN 1
#define RTE_LITTLE_ENDIAN 2
#define RTE_BYTE_ORDER RTE_LITTLE_ENDIAN
#define RTE_STATIC_BSWAP16(x) __builtin_bswap16(x)
#define RTE_BE16(x) ((rte_be16_t)__builtin_bswap16(x))
#define RTE_BE32(x) ((rte_be32_t)__builtin_bswap32(x))
#define RTE_BE64(x) ((rte_be64_t)__builtin_bswap64(x))
#define rte_bswap16(x) ((uint16_t)__builtin_bswap16(x))
#define rte_bswap32(x) ((uint32_t)__builtin_bswap32(x))
#define rte_bswap64(x) ((uint64_t)__builtin_bswap64(x))
#define rte_cpu_to_be_16(x) rte_bswap16(x)
#define rte_cpu_to_be_32(x) rte_bswap32(x)
#define rte_cpu_to_be_64(x) rte_bswap64(x)
#define rte_be_to_cpu_16(x) rte_bswap16(x)
#define rte_be_to_cpu_32(x) rte_bswap32(x)
#define rte_be_to_cpu_64(x) rte_bswap64(x)
#define rte_cpu_to_le_16(x) ((uint16_t)(x))
#define rte_cpu_to_le_32(x) ((uint32_t)(x))
#define rte_cpu_to_le_64(x) ((uint64_t)(x))
#define rte_le_to_cpu_16(x) ((uint16_t)(x))
#define rte_le_to_cpu_32(x) ((uint32_t)(x))
#define rte_le_to_cpu_64(x) ((uint64_t)(x))
#include <arpa/inet.h>
/* Macros, because glibc's versions are functions, which would count as calls. */
#undef ntohl
#undef ntohs
#undef htonl
#undef htons
#define ntohl(x) rte_bswap32((uint32_t)(x))
#define ntohs(x) rte_bswap16((uint16_t)(x))
#define htonl(x) ntohl(x)
#define htons(x) ntohs(x)
#endif
