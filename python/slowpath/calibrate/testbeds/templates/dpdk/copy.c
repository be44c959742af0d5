//@ include head.h

#include <rte_memcpy.h>
//@ include packets.h

static uint8_t copied[4096] __attribute__((aligned(64)));

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
		uint8_t *data = next_packet(i) + ${payload};

		keep(data);
		if (component)
			rte_memcpy(copied, data, bytes);
		asm volatile("" : : "r"(copied) : "memory");
		keep(sum);
	}
	return sum;
}
//@ include main.h
