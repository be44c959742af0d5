//@ include head.h

#include <rte_ip.h>
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
		uint8_t *data = next_packet(i) + ${payload};

		keep(data);
		if (component)
			sum += rte_raw_cksum(data, bytes);
		keep(sum);
	}
	return sum;
}
//@ include main.h
