/* Functions on strings. */
#ifndef SLOWPATH_DPDK_STRING_FNS_H
#define SLOWPATH_DPDK_STRING_FNS_H
#include <ctype.h>
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
/* Splits a string, except after the last requested part; returns the number of parts. */
SLOWPATH_INLINE int rte_strsplit(char *text, int length, char **parts, int most, char between)
{
	int at, found = 0;
	char *part = text;

	if (!text || !parts)
		return -EINVAL;
	SLOWPATH_LOOP for (at = 0; at < length && text[at] && found < most; at++) {
		if (part == &text[at])
			parts[found++] = part;
		if (text[at] == between) {
			text[at] = 0;
			part = &text[at] + 1;
		}
	}
	return found;
}
#ifndef strlcpy
#define strlcpy(to, from, size) rte_strlcpy(to, from, size)
#endif
#endif
