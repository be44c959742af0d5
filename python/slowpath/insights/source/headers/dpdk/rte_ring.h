/* A FIFO of pointers. Each call site that creates a ring has its own, of at most `SLOWPATH_RING` slots. */
#ifndef SLOWPATH_DPDK_RING_H
#define SLOWPATH_DPDK_RING_H
#include <rte_common.h>
#include <rte_lcore.h>

#ifndef SLOWPATH_RING
#define SLOWPATH_RING 1024
#endif
#define RING_F_SP_ENQ 0x0001
#define RING_F_SC_DEQ 0x0002
#define RING_F_EXACT_SZ 0x0004

struct rte_ring {
	void *entries[SLOWPATH_RING];
	uint32_t size, capacity, head, tail; /* head and tail are not reduced modulo the size */
};

/* As in DPDK, the size is a power of two with one unused slot; with `RING_F_EXACT_SZ`, all `count` slots are usable. */
SLOWPATH_KEPT struct rte_ring *rte_ring_started(struct rte_ring *ring, unsigned count, unsigned flags)
{
	uint32_t size = flags & RING_F_EXACT_SZ ? rte_align32pow2(count + 1) : count;

	if (!rte_is_power_of_2(size))
		return 0;
	ring->size = RTE_MIN(size, (uint32_t)SLOWPATH_RING);
	ring->capacity = flags & RING_F_EXACT_SZ ? RTE_MIN((uint32_t)count, ring->size - 1) : ring->size - 1;
	ring->head = ring->tail = 0;
	return ring;
}
#define rte_ring_create(name, count, socket, flags) __extension__({ \
	static struct rte_ring rte_ring; \
	(void)(name), (void)(socket); \
	rte_ring_started(&rte_ring, count, flags); \
})

SLOWPATH_C struct rte_ring *rte_ring_lookup(const char *name);
SLOWPATH_INLINE unsigned rte_ring_count(const struct rte_ring *ring) { return ring->head - ring->tail; }
SLOWPATH_INLINE unsigned rte_ring_free_count(const struct rte_ring *ring) { return ring->capacity - rte_ring_count(ring); }
SLOWPATH_INLINE int rte_ring_full(const struct rte_ring *ring) { return rte_ring_free_count(ring) == 0; }
SLOWPATH_INLINE int rte_ring_empty(const struct rte_ring *ring) { return rte_ring_count(ring) == 0; }
SLOWPATH_INLINE unsigned rte_ring_get_size(const struct rte_ring *ring) { return ring->size; }
SLOWPATH_INLINE unsigned rte_ring_get_capacity(const struct rte_ring *ring) { return ring->capacity; }

SLOWPATH_KEPT unsigned rte_ring_enqueue_burst(struct rte_ring *ring, void *const *from, unsigned count, unsigned *room)
{
	unsigned at;

	count = RTE_MIN(count, rte_ring_free_count(ring));
	SLOWPATH_LOOP for (at = 0; at < count; at++)
		ring->entries[ring->head++ & (ring->size - 1)] = from[at];
	if (room)
		*room = rte_ring_free_count(ring);
	return count;
}
SLOWPATH_KEPT unsigned rte_ring_dequeue_burst(struct rte_ring *ring, void **to, unsigned count, unsigned *left)
{
	unsigned at;

	count = RTE_MIN(count, rte_ring_count(ring));
	SLOWPATH_LOOP for (at = 0; at < count; at++)
		to[at] = ring->entries[ring->tail++ & (ring->size - 1)];
	if (left)
		*left = rte_ring_count(ring);
	return count;
}
/* Enqueues all pointers or none. */
SLOWPATH_INLINE unsigned rte_ring_enqueue_bulk(struct rte_ring *ring, void *const *from, unsigned count, unsigned *room)
{
	return rte_ring_enqueue_burst(ring, from, count <= rte_ring_free_count(ring) ? count : 0, room);
}
SLOWPATH_INLINE unsigned rte_ring_dequeue_bulk(struct rte_ring *ring, void **to, unsigned count, unsigned *left)
{
	return rte_ring_dequeue_burst(ring, to, count <= rte_ring_count(ring) ? count : 0, left);
}
SLOWPATH_INLINE int rte_ring_enqueue(struct rte_ring *ring, void *one)
{
	if (rte_ring_full(ring))
		return -ENOBUFS;
	ring->entries[ring->head++ & (ring->size - 1)] = one;
	return 0;
}
SLOWPATH_INLINE int rte_ring_dequeue(struct rte_ring *ring, void **one)
{
	if (rte_ring_empty(ring))
		return -ENOENT;
	*one = ring->entries[ring->tail++ & (ring->size - 1)];
	return 0;
}
#define rte_ring_sp_enqueue rte_ring_enqueue
#define rte_ring_mp_enqueue rte_ring_enqueue
#define rte_ring_sc_dequeue rte_ring_dequeue
#define rte_ring_mc_dequeue rte_ring_dequeue
#define rte_ring_sp_enqueue_burst rte_ring_enqueue_burst
#define rte_ring_mp_enqueue_burst rte_ring_enqueue_burst
#define rte_ring_sc_dequeue_burst rte_ring_dequeue_burst
#define rte_ring_mc_dequeue_burst rte_ring_dequeue_burst
SLOWPATH_INLINE void rte_ring_reset(struct rte_ring *ring) { ring->head = ring->tail = 0; }
SLOWPATH_INLINE void rte_ring_free(struct rte_ring *ring) { (void)ring; }
#endif
