//@ include head.h

#include <rte_meter.h>
//@ include packets.h

static struct rte_meter_trtcm_profile profile;
static struct rte_meter_trtcm *meter;

static long touched(void)
{
	return entries;
}

static int set_up(void)
{
	struct rte_meter_trtcm_params rates = {
		.cir = 1000000000, .pir = 1000000000, .cbs = 10000, .pbs = 10000,
	};

	meter = rte_zmalloc(NULL, entries * meters * sizeof(*meter), 64);
	if (!meter || rte_meter_trtcm_profile_config(&profile, &rates))
		return refuse("no %ld times %ld meters", (long)meters, (long)entries);
	for (long i = 0; i < entries * meters; i++)
		rte_meter_trtcm_config(&meter[i], &profile);
	return 0;
}

static void tear_down(void)
{
	rte_free(meter);
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *packet = next_packet(i);
		uint32_t at;

		keep(packet);
		memcpy(&at, packet + KEY_OFFSET, sizeof(at));
		for (long m = 0; component && m < meters; m++)
			sum += rte_meter_trtcm_color_aware_check(&meter[m * entries + at], &profile,
								 rte_rdtsc(), sizeof(packet_bytes),
								 RTE_COLOR_GREEN);
		keep(sum);
	}
	return sum;
}
//@ include main.h
