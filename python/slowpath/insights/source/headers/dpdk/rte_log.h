/* Log messages are discarded. */
#ifndef SLOWPATH_DPDK_LOG_H
#define SLOWPATH_DPDK_LOG_H
#include <rte_common.h>
#define RTE_LOG(level, type, ...) ((void)0)
#define RTE_LOG_DP(level, type, ...) ((void)0)
#define RTE_LOGTYPE_USER1 24
#define RTE_LOGTYPE_USER2 25
#define RTE_LOG_EMERG 1U
#define RTE_LOG_ALERT 2U
#define RTE_LOG_CRIT 3U
#define RTE_LOG_ERR 4U
#define RTE_LOG_WARNING 5U
#define RTE_LOG_NOTICE 6U
#define RTE_LOG_INFO 7U
#define RTE_LOG_DEBUG 8U
#define RTE_LOG_MAX RTE_LOG_DEBUG
#define RTE_LOG_LINE(level, type, ...) ((void)0)
#define RTE_LOG_DP_LINE(level, type, ...) ((void)0)
#define rte_log(level, type, ...) 0
#endif
