/* Internet checksum: fold, and update in place when a field changes.
 *
 * Sources: RFC 1071, RFC 1624 equation 3: HC' = ~(~HC + ~m + m').
 */
#ifndef EXAMPLES_CHECKSUM_H
#define EXAMPLES_CHECKSUM_H

#include <linux/types.h>

/* One's complement sum of 16 bits of a sum of up to 2^32 words. */
static __always_inline __u16 csum_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* What replacing the 32-bit word `from` by `to` adds to a sum. */
static __always_inline __u64 csum_replaced(__be32 from, __be32 to)
{
	return (__u64)(__u32)~from + to;
}

/* The checksum field after `added` has been added to the sum it protects. */
static __always_inline __sum16 csum_update(__sum16 field, __u64 added)
{
	return ~csum_fold((__u16)~field + added);
}

#endif
