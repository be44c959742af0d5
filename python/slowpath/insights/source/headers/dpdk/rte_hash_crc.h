/* CRC-32C, byte by byte; CPUs have an instruction for it, cards an engine. */
#ifndef SLOWPATH_DPDK_HASH_CRC_H
#define SLOWPATH_DPDK_HASH_CRC_H
#include <rte_common.h>
SLOWPATH_KEPT uint32_t rte_hash_crc(const void *data, uint32_t length, uint32_t initial)
{
	const uint8_t *at = (const uint8_t *)data;
	uint32_t bit;

	SLOWPATH_LOOP for (; length; length--) {
		initial ^= *at++;
		SLOWPATH_LOOP for (bit = 0; bit < 8; bit++)
			initial = initial >> 1 ^ (initial & 1 ? 0x82f63b78 : 0);
	}
	return initial;
}
SLOWPATH_INLINE uint32_t rte_hash_crc_1byte(uint8_t data, uint32_t initial) { return rte_hash_crc(&data, 1, initial); }
SLOWPATH_INLINE uint32_t rte_hash_crc_2byte(uint16_t data, uint32_t initial) { return rte_hash_crc(&data, 2, initial); }
SLOWPATH_INLINE uint32_t rte_hash_crc_4byte(uint32_t data, uint32_t initial) { return rte_hash_crc(&data, 4, initial); }
SLOWPATH_INLINE uint32_t rte_hash_crc_8byte(uint64_t data, uint32_t initial) { return rte_hash_crc(&data, 8, initial); }
#endif
