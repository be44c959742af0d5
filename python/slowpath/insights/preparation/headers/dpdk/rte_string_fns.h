/* Texts, of which packets have none. */
#ifndef SLOWPATH_DPDK_STRING_FNS_H
#define SLOWPATH_DPDK_STRING_FNS_H
#include <rte_common.h>
SLOWPATH_INLINE size_t rte_strlcpy(char *to, const char *from, size_t size)
{
	size_t length = strlen(from), kept = length < size ? length : size - 1;

	if (size) {
		memcpy(to, from, kept);
		to[kept] = 0;
	}
	return length;
}
#ifndef strlcpy
#define strlcpy(to, from, size) rte_strlcpy(to, from, size)
#endif
#endif
