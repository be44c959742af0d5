/* Common code for tables of prefixes (rte_lpm.h, rte_lpm6.h, rte_fib.h, rte_fib6.h): a list of different prefixes. A
 * rule with length 0 is free; a new rule takes the first free one. */
#ifndef SLOWPATH_DPDK_PREFIXES_H
#define SLOWPATH_DPDK_PREFIXES_H
#include <rte_common.h>
#include <rte_errno.h>
#include <rte_lcore.h>

#ifndef SLOWPATH_RULES
#define SLOWPATH_RULES 1024
#endif

/* Functions of a table that find a rule by its prefix, and a free rule; they return `used` or `most` if there is none.
 * `address` declares an address, and `under` tests whether a rule's prefix contains it. */
#define SLOWPATH_PREFIXES(table, address, under) \
	SLOWPATH_KEPT uint32_t table##_find_rule(const struct table *prefixes, address, uint32_t length) \
	{ \
		uint32_t at; \
		SLOWPATH_LOOP for (at = 0; at < prefixes->used; at++) \
			if (prefixes->rules[at].length == length && under(prefixes->rules[at], ip)) \
				break; \
		return at; \
	} \
	SLOWPATH_KEPT uint32_t table##_place(struct table *prefixes, address, uint32_t length) \
	{ \
		uint32_t at = table##_find_rule(prefixes, ip, length); \
		if (at < prefixes->used) \
			return at; \
		SLOWPATH_LOOP for (at = 0; at < prefixes->used && prefixes->rules[at].length; at++) { } \
		if (at == prefixes->most) \
			slowpath_dpdk_totals.refused++; \
		else if (at == prefixes->used) \
			prefixes->used++; \
		return at; \
	}

/* Test for IPv4 addresses in host byte order. */
#define SLOWPATH_UNDER(rule, address) ((((address) ^ (rule).ip) & (rule).mask) == 0)
#define SLOWPATH_MASK(bits) ((uint32_t)(UINT64_C(0xffffffff) << (32 - (bits))))

/* Test for IPv6 addresses in network byte order. */
#define SLOWPATH_UNDER6(rule, address) \
	(((((address)[0] ^ (rule).ip[0]) & (rule).mask[0]) | (((address)[1] ^ (rule).ip[1]) & (rule).mask[1])) == 0)
/* Returns a mask of `bits` bits, at most 64. */
SLOWPATH_INLINE uint64_t slowpath_dpdk_mask(uint32_t bits)
{
	return bits ? __builtin_bswap64(UINT64_MAX << (64 - bits)) : 0;
}
#define SLOWPATH_SET6(rule, address, bits) do { \
	(rule).mask[0] = slowpath_dpdk_mask(RTE_MIN(bits, 64u)); \
	(rule).mask[1] = slowpath_dpdk_mask(bits < 64 ? 0 : bits - 64u); \
	(rule).ip[0] = (address)[0] & (rule).mask[0]; \
	(rule).ip[1] = (address)[1] & (rule).mask[1]; \
} while (0)
#endif
