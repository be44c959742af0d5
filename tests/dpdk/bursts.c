/* Bursts with places on the stack that are known at run time only, and loops in many shapes. */
#include <rte_ethdev.h>
#include <rte_mbuf_dyn.h>

static int member;
static uint64_t lengths[8];

/* A member of packets whose place is a number. */
uint16_t stamp(__rte_unused uint16_t port, __rte_unused uint16_t queue, struct rte_mbuf **packets, uint16_t count,
	       __rte_unused uint16_t most, __rte_unused void *given)
{
	uint64_t now = rte_rdtsc();
	uint16_t at;

	for (at = 0; at < count; at++)
		*RTE_MBUF_DYNFIELD(packets[at], member, uint64_t *) = now;
	return count;
}

/* More values than registers, beside an array that is written wherever packets say. */
int count_lengths(struct rte_mbuf **packets, uint16_t count, uint16_t port, uint64_t now)
{
	uint32_t found[8] = {0};
	uint64_t x = 1, y = 2;
	int at, a = 0, b = 0;

	for (at = 0; at < count; at++) {
		uint8_t *bytes = rte_pktmbuf_mtod(packets[at], uint8_t *);

		found[bytes[3] & 7] += packets[at]->pkt_len;
		a += bytes[0];
		b ^= bytes[1];
		x += bytes[4] + now;
		y += x ^ bytes[5];
	}
	for (at = 0; at < 8; at++)
		lengths[at] += found[at];
	rte_eth_tx_burst(port, 0, packets, count);
	return a + b + (int)x + (int)y;
}

/* As examples prefetch: what is ahead, then the rest. */
int ahead(struct rte_mbuf **packets, int count)
{
	int at;

	for (at = 0; at < 3 && at < count; at++)
		rte_prefetch0(rte_pktmbuf_mtod(packets[at], void *));
	for (at = 0; at < count - 3; at++) {
		rte_prefetch0(rte_pktmbuf_mtod(packets[at + 3], void *));
		rte_pktmbuf_mtod(packets[at], char *)[0]++;
	}
	for (; at < count; at++)
		rte_pktmbuf_mtod(packets[at], char *)[0]++;
	return count;
}

/* In place: those that stay move to the front. */
uint16_t filter(struct rte_mbuf **packets, uint16_t count)
{
	uint16_t at, kept = 0, sent;

	for (at = 0; at < count; at++)
		if (rte_pktmbuf_mtod(packets[at], uint8_t *)[0])
			packets[kept++] = packets[at];
		else
			rte_pktmbuf_free(packets[at]);
	sent = rte_eth_tx_burst(0, 0, packets, kept);
	while (sent < kept)
		rte_pktmbuf_free(packets[sent++]);
	return kept;
}

/* Ends where a pointer is reached. */
uint16_t up_to(struct rte_mbuf **packets, uint16_t count)
{
	struct rte_mbuf **at;

	for (at = packets; at < packets + count; at++)
		lengths[0] += rte_pktmbuf_mtod(*at, uint8_t *)[0];
	return rte_eth_tx_burst(0, 0, packets, count);
}
