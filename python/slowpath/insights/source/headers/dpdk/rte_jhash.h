/* Bob Jenkins's hash lookup3 (public domain), with DPDK's order of parts. */
#ifndef SLOWPATH_DPDK_JHASH_H
#define SLOWPATH_DPDK_JHASH_H
#include <rte_common.h>
#define RTE_JHASH_GOLDEN_RATIO 0xdeadbeef
SLOWPATH_INLINE uint32_t slowpath_dpdk_rotated(uint32_t x, unsigned by) { return x << by | x >> (32 - by); }
SLOWPATH_INLINE void slowpath_dpdk_mix(uint32_t *a, uint32_t *b, uint32_t *c)
{
	*a -= *c, *a ^= slowpath_dpdk_rotated(*c, 4), *c += *b;
	*b -= *a, *b ^= slowpath_dpdk_rotated(*a, 6), *a += *c;
	*c -= *b, *c ^= slowpath_dpdk_rotated(*b, 8), *b += *a;
	*a -= *c, *a ^= slowpath_dpdk_rotated(*c, 16), *c += *b;
	*b -= *a, *b ^= slowpath_dpdk_rotated(*a, 19), *a += *c;
	*c -= *b, *c ^= slowpath_dpdk_rotated(*b, 4), *b += *a;
}
SLOWPATH_INLINE void slowpath_dpdk_last(uint32_t *a, uint32_t *b, uint32_t *c)
{
	*c ^= *b, *c -= slowpath_dpdk_rotated(*b, 14);
	*a ^= *c, *a -= slowpath_dpdk_rotated(*c, 11);
	*b ^= *a, *b -= slowpath_dpdk_rotated(*a, 25);
	*c ^= *b, *c -= slowpath_dpdk_rotated(*b, 16);
	*a ^= *c, *a -= slowpath_dpdk_rotated(*c, 4);
	*b ^= *a, *b -= slowpath_dpdk_rotated(*a, 14);
	*c ^= *b, *c -= slowpath_dpdk_rotated(*b, 24);
}
SLOWPATH_KEPT uint32_t rte_jhash(const void *key, uint32_t length, uint32_t initial)
{
	const uint8_t *at = (const uint8_t *)key;
	uint32_t a = RTE_JHASH_GOLDEN_RATIO + length + initial, b = a, c = a, word[3];

	SLOWPATH_LOOP for (; length > 12; at += 12, length -= 12) {
		memcpy(word, at, 12);
		a += word[0], b += word[1], c += word[2];
		slowpath_dpdk_mix(&a, &b, &c);
	}
	if (length) {
		uint32_t byte;

		word[0] = word[1] = word[2] = 0;
		SLOWPATH_LOOP for (byte = 0; byte < length; byte++)
			word[byte / 4] |= (uint32_t)at[byte] << 8 * (byte % 4);
		a += word[0], b += word[1], c += word[2];
		slowpath_dpdk_last(&a, &b, &c);
	}
	return c;
}
SLOWPATH_INLINE uint32_t slowpath_dpdk_jhash(uint32_t one, uint32_t two, uint32_t three, uint32_t from)
{
	uint32_t a = one + from, b = two + from, c = three + from;

	slowpath_dpdk_last(&a, &b, &c);
	return c;
}
SLOWPATH_INLINE uint32_t rte_jhash_3words(uint32_t a, uint32_t b, uint32_t c, uint32_t initial)
{
	return slowpath_dpdk_jhash(a, b, c, initial + RTE_JHASH_GOLDEN_RATIO + 12);
}
SLOWPATH_INLINE uint32_t rte_jhash_2words(uint32_t a, uint32_t b, uint32_t initial)
{
	return slowpath_dpdk_jhash(a, b, 0, initial + RTE_JHASH_GOLDEN_RATIO + 8);
}
SLOWPATH_INLINE uint32_t rte_jhash_1word(uint32_t a, uint32_t initial)
{
	return slowpath_dpdk_jhash(a, 0, 0, initial + RTE_JHASH_GOLDEN_RATIO + 4);
}
SLOWPATH_INLINE uint32_t rte_jhash_32b(const uint32_t *key, uint32_t words, uint32_t initial)
{
	return rte_jhash(key, 4 * words, initial);
}
#endif
