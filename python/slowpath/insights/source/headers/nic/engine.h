/* Work that hardware engines of a card can do, for functions that follow slowpath's advice. Runs
 * over traces compute correct results. Counts do not include the work, because no core does it;
 * they include the call as one instruction of the caller, and a note has the number of calls. */
#ifndef SLOWPATH_NIC_ENGINE_H
#define SLOWPATH_NIC_ENGINE_H
#include <stdint.h>
#include <string.h>

#define NIC_ENGINE static __attribute__((noinline, unused))

/* Folds and complements a sum. */
static inline __attribute__((always_inline)) uint16_t nic_checksum_of(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Returns the internet checksum of `length` bytes (RFC 1071) in memory order. */
NIC_ENGINE uint16_t nic_engine_checksum(const void *data, uint32_t length)
{
	const unsigned char *bytes = (const unsigned char *)data;
	uint64_t sum = 0;
	uint32_t at;

	for (at = 0; at + 2 <= length; at += 2) {
		uint16_t word;

		memcpy(&word, bytes + at, 2);
		sum += word;
	}
	if (length & 1) {
		uint16_t word = 0;

		memcpy(&word, bytes + length - 1, 1);
		sum += word;
	}
	return nic_checksum_of(sum);
}

/* Updates a checksum after 32 bits of its data changed (RFC 1624, equation 3); all values are in
 * memory order. */
NIC_ENGINE void nic_engine_correct_checksum(uint16_t *checksum, uint32_t before, uint32_t after)
{
	uint64_t sum = (uint16_t)~*checksum;

	sum += (uint16_t)~before + (uint64_t)(uint16_t)~(before >> 16);
	sum += (after & 0xffff) + (uint64_t)(after >> 16);
	*checksum = nic_checksum_of(sum);
}
#endif
