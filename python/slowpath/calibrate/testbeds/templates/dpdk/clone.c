//@ include head.h

#include <rte_mbuf.h>
//@ include packets.h

enum { COPIES = 512 };

static struct rte_mempool *pool;
static struct rte_mbuf *original;

static long touched(void)
{
	return PACKETS;
}

static int set_up(void)
{
	char *data;

	pool = rte_pktmbuf_pool_create("copies", COPIES, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	original = pool ? rte_pktmbuf_alloc(pool) : NULL;
	data = original ? rte_pktmbuf_append(original, sizeof(packet_bytes)) : NULL;
	if (!data)
		return refuse("no pool of packets: %s", rte_strerror(rte_errno));
	memcpy(data, packet_bytes, sizeof(packet_bytes));
	return 0;
}

static void tear_down(void)
{
	rte_pktmbuf_free(original);
	rte_mempool_free(pool);
	original = NULL;
	pool = NULL;
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		keep(original);
		for (long c = 0; component && c < clones; c++) {
			struct rte_mbuf *copy = rte_pktmbuf_copy(original, pool, 0, bytes);

			sum += copy->data_len;
			rte_pktmbuf_free(copy);
		}
		keep(sum);
	}
	return sum;
}
//@ include main.h
