/* Reordering of packets by sequence number: a window of numbers, and the packets that left the window but were not
 * fetched yet. Each call site that creates a buffer has its own, of at most `SLOWPATH_REORDER` numbers. */
#ifndef SLOWPATH_DPDK_REORDER_H
#define SLOWPATH_DPDK_REORDER_H
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#ifndef SLOWPATH_REORDER
#define SLOWPATH_REORDER 8192
#endif
typedef uint32_t rte_reorder_seqn_t;
SLOWPATH_C SLOWPATH_ONE int rte_reorder_seqn_dynfield_offset = -1;

struct rte_reorder_buffer {
	uint32_t first; /* first sequence number of the window */
	uint32_t head;  /* its slot */
	uint32_t size, started;
	uint32_t behind, fetched; /* packets that left the window, and how many of these were fetched */
	struct rte_mbuf *window[SLOWPATH_REORDER], *left[SLOWPATH_REORDER];
};

SLOWPATH_INLINE rte_reorder_seqn_t *rte_reorder_seqn(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, rte_reorder_seqn_dynfield_offset, rte_reorder_seqn_t *);
}

SLOWPATH_KEPT struct rte_reorder_buffer *rte_reorder_started(struct rte_reorder_buffer *buffer, const char *name,
							     unsigned size)
{
	static const struct rte_mbuf_dynfield number = {"rte_reorder_seqn_dynfield", sizeof(rte_reorder_seqn_t),
							sizeof(rte_reorder_seqn_t), 0};

	if (!name || !rte_is_power_of_2(size) || size > SLOWPATH_REORDER) {
		rte_errno = name && rte_is_power_of_2(size) ? ENOMEM : EINVAL;
		return 0;
	}
	if (rte_reorder_seqn_dynfield_offset < 0)
		rte_reorder_seqn_dynfield_offset = rte_mbuf_dynfield_register(&number);
	if (rte_reorder_seqn_dynfield_offset < 0) {
		rte_errno = ENOMEM;
		return 0;
	}
	buffer->size = size;
	return buffer;
}
#define rte_reorder_create(name, socket, size) __extension__({ \
	static struct rte_reorder_buffer rte_reorder; \
	(void)(socket); \
	rte_reorder_started(&rte_reorder, name, size); \
})

/* Moves the window by up to `wanted` numbers, and by later packets that need not wait. Returns the number; it is
 * smaller if packets behind the window were not fetched. */
SLOWPATH_KEPT uint32_t rte_reorder_move(struct rte_reorder_buffer *buffer, uint32_t wanted)
{
	uint32_t mask = buffer->size - 1, moved = 0;

	SLOWPATH_LOOP while (buffer->behind - buffer->fetched < mask) {
		struct rte_mbuf *m = buffer->window[buffer->head];

		if (!m && moved >= wanted)
			break;
		if (m)
			buffer->left[buffer->behind++ & mask] = m;
		buffer->window[buffer->head] = 0;
		buffer->head = (buffer->head + 1) & mask;
		moved++;
	}
	buffer->first += moved;
	return moved;
}
SLOWPATH_KEPT int rte_reorder_insert(struct rte_reorder_buffer *buffer, struct rte_mbuf *m)
{
	uint32_t place;

	if (!buffer || !m) {
		rte_errno = EINVAL;
		return -1;
	}
	if (!buffer->started)
		buffer->first = *rte_reorder_seqn(m);
	buffer->started = 1;
	place = *rte_reorder_seqn(m) - buffer->first;
	if (place >= 2 * buffer->size) { /* too late or far too early */
		rte_errno = ERANGE;
		return -1;
	}
	if (place >= buffer->size) {
		uint32_t wanted = place + 1 - buffer->size;

		if (rte_reorder_move(buffer, wanted) < wanted) {
			rte_errno = ENOSPC;
			return -1;
		}
		place = *rte_reorder_seqn(m) - buffer->first;
	}
	buffer->window[(buffer->head + place) & (buffer->size - 1)] = m;
	return 0;
}
SLOWPATH_KEPT unsigned rte_reorder_drain(struct rte_reorder_buffer *buffer, struct rte_mbuf **packets, unsigned most)
{
	uint32_t mask = buffer->size - 1;
	unsigned found = 0;

	SLOWPATH_LOOP while (found < most && buffer->fetched != buffer->behind) {
		packets[found++] = buffer->left[buffer->fetched & mask];
		buffer->left[buffer->fetched++ & mask] = 0;
	}
	SLOWPATH_LOOP while (found < most && buffer->window[buffer->head]) {
		packets[found++] = buffer->window[buffer->head];
		buffer->window[buffer->head] = 0;
		buffer->head = (buffer->head + 1) & mask;
		buffer->first++;
	}
	return found;
}
SLOWPATH_KEPT void rte_reorder_reset(struct rte_reorder_buffer *buffer)
{
	uint32_t at, size = buffer->size;

	SLOWPATH_LOOP for (at = 0; at < size; at++) {
		rte_pktmbuf_free(buffer->window[at]);
		rte_pktmbuf_free(buffer->left[at]);
	}
	memset(buffer, 0, sizeof(*buffer));
	buffer->size = size;
}
SLOWPATH_INLINE void rte_reorder_free(struct rte_reorder_buffer *buffer)
{
	if (buffer)
		rte_reorder_reset(buffer);
}
SLOWPATH_C struct rte_reorder_buffer *rte_reorder_find_existing(const char *name);
#endif
