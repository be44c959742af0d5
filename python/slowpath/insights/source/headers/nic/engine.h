/* What engines of a card do, for functions that follow the advice to let them. Over a trace, the
 * results are right; what it takes to make them is in no count, because no core does it. The call is
 * an instruction of who calls, and how often it is made is told. */
#ifndef SLOWPATH_NIC_ENGINE_H
#define SLOWPATH_NIC_ENGINE_H
#include <stdint.h>
#include <string.h>

#define NIC_ENGINE static __attribute__((noinline, unused))

/* A sum that is folded and complemented. */
static inline __attribute__((always_inline)) uint16_t nic_checksum_of(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* The internet checksum of so many bytes (RFC 1071), as it stands in memory. */
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

/* Corrects a checksum for 32 bits of its data that have changed (RFC 1624, equation 3); all three as
 * they stand in memory. */
NIC_ENGINE void nic_engine_correct_checksum(uint16_t *checksum, uint32_t before, uint32_t after)
{
	uint64_t sum = (uint16_t)~*checksum;

	sum += (uint16_t)~before + (uint64_t)(uint16_t)~(before >> 16);
	sum += (after & 0xffff) + (uint64_t)(after >> 16);
	*checksum = nic_checksum_of(sum);
}
#endif
