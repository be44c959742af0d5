/* What a ring does, by the bytes of packets: returns what is found. */
#include <rte_mbuf.h>
#include <rte_ring.h>

#define TURN 4

static struct rte_ring *eight, *five;
static long kept[8];

static void start(void)
{
	eight = rte_ring_create("eight", 8, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
	five = rte_ring_create("five", 5, SOCKET_ID_ANY, RING_F_EXACT_SZ);
}

int turn(const uint8_t *bytes)
{
	struct rte_ring *ring = bytes[0] & 1 ? eight : five;
	unsigned other = 0;
	void *some[8] = {0};
	int at, found = 0;

	switch (bytes[1] % 6) {
	case 0: found = rte_ring_enqueue(ring, &kept[bytes[2] % 8]); break;
	case 1: found = rte_ring_dequeue(ring, &some[0]); break;
	case 5:
	case 2:
		for (at = 0; at < 8; at++)
			some[at] = &kept[(bytes[2] + at) % 8];
		found = (int)(bytes[1] % 6 == 2 ? rte_ring_enqueue_burst(ring, some, bytes[3] % 8, &other)
						: rte_ring_enqueue_bulk(ring, some, bytes[3] % 8, &other));
		return found * 100 + (int)other;
	case 3: found = (int)rte_ring_dequeue_burst(ring, some, bytes[3] % 8, &other); break;
	case 4: found = (int)rte_ring_dequeue_bulk(ring, some, bytes[3] % 8, &other); break;
	}
	for (at = 0; at < 8; at++)
		found = found * 3 + (some[at] ? (int)((long *)some[at] - kept) : 9);
	return found + 1000 * (int)(rte_ring_count(ring) + 10 * rte_ring_free_count(ring)) + 7 * (int)other;
}
#ifdef BESIDE
#include "twin.h"
#else
RTE_INIT(started) { start(); }
int take(const struct rte_mbuf *m) { return turn(rte_pktmbuf_mtod(m, const uint8_t *)); }
#endif
