//@ include head.h

#include <rte_ring_elem.h>
//@ include packets.h

enum { RECORDS = 4096 };

static struct rte_ring *ring;

static long touched(void)
{
	return PACKETS;
}

static int set_up(void)
{
	ring = rte_ring_create_elem("records", bytes, RECORDS, SOCKET_ID_ANY,
				    RING_F_SP_ENQ | RING_F_SC_DEQ);
	return ring ? 0 : refuse("no ring of records: %s", rte_strerror(rte_errno));
}

static void tear_down(void)
{
	rte_ring_free(ring);
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *data = next_packet(i) + ${payload};

		keep(data);
		/* The control plane has emptied the ring. */
		if (i % 64 == 0)
			rte_ring_reset(ring);
		for (long d = 0; component && d < digests; d++)
			sum += rte_ring_sp_enqueue_elem(ring, data, bytes);
		keep(sum);
	}
	return sum;
}
//@ include main.h
