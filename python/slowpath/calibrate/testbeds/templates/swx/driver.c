#define ALLOW_EXPERIMENTAL_API

//@ include ../dpdk/head.h

#include <rte_byteorder.h>
#include <rte_mbuf.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>

//@ include packet.h
//@ include ports.h
//@ include reader.h
//@ if tabled
//@ include tables.h
//@ end
//@ include checks.h

static long touched(void)
{
//@ if tabled
	return entries < 200000 ? entries : 200000;
//@ else
//@ if kind == meter
	return entries;
//@ else
	return PACKETS;
//@ end
//@ end
}

static inline uint64_t run(uint32_t packets_wanted, int component)
{
	struct side *side = &sides[component];
	uint64_t before = side->sent;

	while (side->sent - before < packets_wanted)
		rte_swx_pipeline_run(side->pipeline, STEP);
	passed = side->sent - before;
	return passed;
}

static int set_up(void)
{
	for (int component = 0; component < 2; component++) {
		struct side *side = &sides[component];
		char path[PATH];

		side->room = packets + component * PACKETS * stride;
		path_of(path, component ? "sent" : "without.sent");
		side->expected = read_packet(path, &side->expected_length);
		if (!side->expected ||
		    build(&side->pipeline, component ? "spec" : "without.spec",
			  &(struct ports){ &in_memory, side, &to_memory, side }))
			return -1;
//@ if tabled
		if (component && fill(side->pipeline))
			return -1;
//@ end
		for (int burst = 0; burst < 4; burst++)
			if (run_some(side))
				return -1;
	}
	return check();
}

static void tear_down(void)
{
	for (int component = 0; component < 2; component++) {
		rte_swx_pipeline_free(sides[component].pipeline);
		free(sides[component].expected);
	}
	memset(sides, 0, sizeof(sides));
	free(arriving);
	arriving = NULL;
}
//@ include ../dpdk/main.h
