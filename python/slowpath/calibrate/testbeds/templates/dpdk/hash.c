//@ include head.h

//@ if method == jhash
#include <rte_jhash.h>
//@ else
#include <rte_hash_crc.h>
//@ end
//@ include packets.h

static long touched(void)
{
	return PACKETS;
}

static int set_up(void)
{
	return 0;
}

static void tear_down(void)
{
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *key = next_packet(i) + KEY_OFFSET;

		for (long h = 0; component && h < hashes; h++) {
			keep(key); /* each hash reads the key again */
//@ if method == jhash
			sum += rte_jhash(key, key_bytes, 0);
//@ else
			sum += rte_hash_crc(key, key_bytes, 0);
//@ end
		}
		keep(sum);
	}
	return sum;
}
//@ include main.h
