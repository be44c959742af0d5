/* Packets as DPDK describes them. Each arrives in one segment, a buffer with room in front and behind, and may get more
 * segments. A card keeps `struct rte_mbuf` outside of the packet; its layout is that of DPDK 22.11. */
#ifndef SLOWPATH_DPDK_MBUF_H
#define SLOWPATH_DPDK_MBUF_H
#include <rte_byteorder.h>
#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_prefetch.h>

/* Buffers for packets that the function allocates. */
#ifndef SLOWPATH_PACKETS
#define SLOWPATH_PACKETS 256
#endif
/* Buffers for arriving packets, used in turn, so that some packets may wait in structures of the function. */
#ifndef SLOWPATH_TURNS
#define SLOWPATH_TURNS 1024
#endif
#define SLOWPATH_BUFFERS (SLOWPATH_TURNS + SLOWPATH_PACKETS)
#define SLOWPATH_BUFFER 16384

#define RTE_MBUF_DEFAULT_DATAROOM 2048
#define RTE_MBUF_DEFAULT_BUF_SIZE (RTE_MBUF_DEFAULT_DATAROOM + RTE_PKTMBUF_HEADROOM)
#define RTE_MBUF_PORT_INVALID UINT16_MAX
#define RTE_MBUF_MAX_NB_SEGS UINT16_MAX
#define RTE_MBUF_F_RX_VLAN (1ULL << 0)
#define RTE_MBUF_F_RX_RSS_HASH (1ULL << 1)
#define RTE_MBUF_F_RX_FDIR (1ULL << 2)
#define RTE_MBUF_F_RX_L4_CKSUM_BAD (1ULL << 3)
#define RTE_MBUF_F_RX_IP_CKSUM_BAD (1ULL << 4)
#define RTE_MBUF_F_RX_VLAN_STRIPPED (1ULL << 6)
#define RTE_MBUF_F_RX_IP_CKSUM_GOOD (1ULL << 7)
#define RTE_MBUF_F_RX_L4_CKSUM_GOOD (1ULL << 8)
#define RTE_MBUF_F_RX_IEEE1588_PTP (1ULL << 9)
#define RTE_MBUF_F_RX_IEEE1588_TMST (1ULL << 10)
#define RTE_MBUF_F_TX_IEEE1588_TMST (1ULL << 51)
#define RTE_MBUF_F_RX_IP_CKSUM_MASK (RTE_MBUF_F_RX_IP_CKSUM_BAD | RTE_MBUF_F_RX_IP_CKSUM_GOOD)
#define RTE_MBUF_F_RX_L4_CKSUM_MASK (RTE_MBUF_F_RX_L4_CKSUM_BAD | RTE_MBUF_F_RX_L4_CKSUM_GOOD)
#define RTE_MBUF_F_TX_TUNNEL_MASK (0xfULL << 45)
#define RTE_MBUF_F_TX_TCP_SEG (1ULL << 50)
#define RTE_MBUF_F_TX_TCP_CKSUM (1ULL << 52)
#define RTE_MBUF_F_TX_SCTP_CKSUM (2ULL << 52)
#define RTE_MBUF_F_TX_UDP_CKSUM (3ULL << 52)
#define RTE_MBUF_F_TX_L4_MASK (3ULL << 52)
#define RTE_MBUF_F_TX_IP_CKSUM (1ULL << 54)
#define RTE_MBUF_F_TX_IPV4 (1ULL << 55)
#define RTE_MBUF_F_TX_IPV6 (1ULL << 56)
#define RTE_MBUF_F_TX_VLAN (1ULL << 57)
#define RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD (1ULL << 5)
#define RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN 0
#define RTE_MBUF_F_RX_IP_CKSUM_NONE ((1ULL << 4) | (1ULL << 7))
#define RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN 0
#define RTE_MBUF_F_RX_L4_CKSUM_NONE ((1ULL << 3) | (1ULL << 8))
#define RTE_MBUF_F_RX_FDIR_ID (1ULL << 13)
#define RTE_MBUF_F_RX_FDIR_FLX (1ULL << 14)
#define RTE_MBUF_F_RX_QINQ_STRIPPED (1ULL << 15)
#define RTE_MBUF_F_RX_LRO (1ULL << 16)
#define RTE_MBUF_F_RX_SEC_OFFLOAD (1ULL << 18)
#define RTE_MBUF_F_RX_SEC_OFFLOAD_FAILED (1ULL << 19)
#define RTE_MBUF_F_RX_QINQ (1ULL << 20)
#define RTE_MBUF_F_RX_OUTER_L4_CKSUM_MASK ((1ULL << 21) | (1ULL << 22))
#define RTE_MBUF_F_RX_OUTER_L4_CKSUM_UNKNOWN 0
#define RTE_MBUF_F_RX_OUTER_L4_CKSUM_BAD (1ULL << 21)
#define RTE_MBUF_F_RX_OUTER_L4_CKSUM_GOOD (1ULL << 22)
#define RTE_MBUF_F_RX_OUTER_L4_CKSUM_INVALID ((1ULL << 21) | (1ULL << 22))
#define RTE_MBUF_F_TX_OUTER_UDP_CKSUM (1ULL << 41)
#define RTE_MBUF_F_TX_UDP_SEG (1ULL << 42)
#define RTE_MBUF_F_TX_SEC_OFFLOAD (1ULL << 43)
#define RTE_MBUF_F_TX_MACSEC (1ULL << 44)
#define RTE_MBUF_F_TX_TUNNEL_VXLAN (0x1ULL << 45)
#define RTE_MBUF_F_TX_TUNNEL_GRE (0x2ULL << 45)
#define RTE_MBUF_F_TX_TUNNEL_IPIP (0x3ULL << 45)
#define RTE_MBUF_F_TX_TUNNEL_GENEVE (0x4ULL << 45)
#define RTE_MBUF_F_TX_TUNNEL_MPLSINUDP (0x5ULL << 45)
#define RTE_MBUF_F_TX_TUNNEL_VXLAN_GPE (0x6ULL << 45)
#define RTE_MBUF_F_TX_TUNNEL_GTP (0x7ULL << 45)
#define RTE_MBUF_F_TX_TUNNEL_ESP (0x8ULL << 45)
#define RTE_MBUF_F_TX_TUNNEL_IP (0xdULL << 45)
#define RTE_MBUF_F_TX_TUNNEL_UDP (0xeULL << 45)
#define RTE_MBUF_F_TX_QINQ (1ULL << 49)
#define RTE_MBUF_F_TX_L4_NO_CKSUM (0ULL << 52)
#define RTE_MBUF_F_TX_OUTER_IP_CKSUM (1ULL << 58)
#define RTE_MBUF_F_TX_OUTER_IPV4 (1ULL << 59)
#define RTE_MBUF_F_TX_OUTER_IPV6 (1ULL << 60)
#define RTE_MBUF_F_EXTERNAL (1ULL << 61)
#define RTE_MBUF_F_INDIRECT (1ULL << 62)
#define RTE_PTYPE_UNKNOWN 0x00000000
#define RTE_PTYPE_L2_ETHER 0x00000001
#define RTE_PTYPE_L2_ETHER_VLAN 0x00000006
#define RTE_PTYPE_L2_ETHER_QINQ 0x00000007
#define RTE_PTYPE_L3_IPV4 0x00000010
#define RTE_PTYPE_L3_IPV4_EXT 0x00000030
#define RTE_PTYPE_L3_IPV6 0x00000040
#define RTE_PTYPE_L3_IPV4_EXT_UNKNOWN 0x00000090
#define RTE_PTYPE_L3_IPV6_EXT 0x000000c0
#define RTE_PTYPE_L3_IPV6_EXT_UNKNOWN 0x000000e0
#define RTE_PTYPE_L4_TCP 0x00000100
#define RTE_PTYPE_L4_UDP 0x00000200
#define RTE_PTYPE_L4_FRAG 0x00000300
#define RTE_PTYPE_L4_SCTP 0x00000400
#define RTE_PTYPE_L2_MASK 0x0000000f
#define RTE_PTYPE_L3_MASK 0x000000f0
#define RTE_PTYPE_L4_MASK 0x00000f00
#define RTE_ETH_IS_IPV4_HDR(type) ((type) & RTE_PTYPE_L3_IPV4)
#define RTE_ETH_IS_IPV6_HDR(type) ((type) & RTE_PTYPE_L3_IPV6)

struct rte_mbuf {
	void *buf_addr;
	rte_iova_t buf_iova;
	uint16_t data_off;
	uint16_t refcnt;
	uint16_t nb_segs;
	uint16_t port;
	uint64_t ol_flags;
	uint32_t packet_type;
	uint32_t pkt_len;
	uint16_t data_len;
	uint16_t vlan_tci;
	union {
		uint32_t rss;
		uint32_t usr;
		struct {
			uint16_t hash, id;
			uint32_t hi;
		} fdir;
	} hash;
	uint16_t vlan_tci_outer;
	uint16_t buf_len;
	struct rte_mempool *pool;
	struct rte_mbuf *next;
	union {
		uint64_t tx_offload;
		struct {
			uint64_t l2_len : 7;
			uint64_t l3_len : 9;
			uint64_t l4_len : 8;
			uint64_t tso_segsz : 16;
			uint64_t outer_l3_len : 9;
			uint64_t outer_l2_len : 7;
		};
	};
	void *shinfo;
	uint16_t priv_size;
	uint16_t timesync;
	uint32_t dynfield1[9];
} __rte_cache_aligned;

SLOWPATH_C SLOWPATH_ONE struct rte_mempool slowpath_dpdk_pool = {"", SLOWPATH_PACKETS};
SLOWPATH_C SLOWPATH_ONE struct rte_mbuf slowpath_dpdk_mbufs[SLOWPATH_BUFFERS] = {{0}};
SLOWPATH_C SLOWPATH_ONE struct rte_mbuf *slowpath_dpdk_burst[1] = {0};
SLOWPATH_C SLOWPATH_ONE unsigned slowpath_dpdk_turn = 0;
SLOWPATH_C SLOWPATH_ONE uint32_t slowpath_dpdk_sizes[2] = {SLOWPATH_TURNS, SLOWPATH_PACKETS};
/* State by buffer: 0 free; 1 in use; 2 unreferenced packet; 3 later segment of an unreferenced packet. */
SLOWPATH_C SLOWPATH_ONE uint8_t slowpath_dpdk_used[SLOWPATH_BUFFERS] = {0};
/* By buffer, references to overwritten packets that the function may still hold; sending or freeing these is not its
 * mistake. */
SLOWPATH_C SLOWPATH_ONE uint32_t slowpath_dpdk_stale[SLOWPATH_BUFFERS] = {0};
SLOWPATH_C SLOWPATH_ONE uint32_t slowpath_dpdk_taken[SLOWPATH_BUFFERS] = {0}; /* order of taking; last: taken_last */
SLOWPATH_C SLOWPATH_ONE uint32_t slowpath_dpdk_taken_last = 0;
SLOWPATH_C SLOWPATH_ONE uint32_t slowpath_dpdk_before = 0; /* buffers taken up to this time belong to earlier packets */
SLOWPATH_C SLOWPATH_ONE uint32_t slowpath_dpdk_made = 0;   /* allocated packets that still exist */
SLOWPATH_C SLOWPATH_ONE uint32_t slowpath_dpdk_kept = 0; /* lost allocated packets whose buffers others got */
SLOWPATH_C SLOWPATH_ONE uint64_t slowpath_dpdk_stolen = 0; /* like kept, but perhaps still in use */
SLOWPATH_C SLOWPATH_ONE unsigned char slowpath_dpdk_bytes[SLOWPATH_BUFFERS][SLOWPATH_BUFFER] = {{0}};

#define rte_pktmbuf_mtod_offset(m, type, offset) ((type)((char *)(m)->buf_addr + (m)->data_off + (offset)))
#define rte_pktmbuf_mtod(m, type) rte_pktmbuf_mtod_offset(m, type, 0)
#define rte_pktmbuf_pkt_len(m) ((m)->pkt_len)
#define rte_pktmbuf_data_len(m) ((m)->data_len)

/* Initialises the first free buffer from `at` on as an empty packet; returns 0 if none is free. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) struct rte_mbuf *slowpath_dpdk_take(unsigned at)
{
	for (; at < SLOWPATH_BUFFERS; at++) {
		struct rte_mbuf *m = &slowpath_dpdk_mbufs[at];

		if (slowpath_dpdk_used[at])
			continue;
		slowpath_dpdk_used[at] = 1;
		slowpath_dpdk_made += at >= SLOWPATH_TURNS;
		slowpath_dpdk_taken[at] = ++slowpath_dpdk_taken_last;
		memset(m, 0, sizeof(*m));
		m->buf_addr = slowpath_dpdk_bytes[at];
		m->buf_len = SLOWPATH_BUFFER;
		m->data_off = RTE_PKTMBUF_HEADROOM;
		m->refcnt = m->nb_segs = 1;
		m->pool = &slowpath_dpdk_pool;
		return m;
	}
	return 0;
}

/* Frees a buffer. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) void slowpath_dpdk_free(unsigned at)
{
	slowpath_dpdk_made -= at >= SLOWPATH_TURNS && slowpath_dpdk_used[at];
	slowpath_dpdk_used[at] = 0;
}

/* Ends a packet that was neither sent nor freed, so that its buffer is free; also its further segments, if the function
 * has no address of them. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) void slowpath_dpdk_end(unsigned at)
{
	struct rte_mbuf *m = &slowpath_dpdk_mbufs[at], *next;

	do {
		next = m->next;
		at = (unsigned)(m - slowpath_dpdk_mbufs);
		if (slowpath_dpdk_used[at] < 2)
			slowpath_dpdk_stale[at] += m->refcnt;
		slowpath_dpdk_free(at);
		m->refcnt = 0;
		m->next = 0;
		m = next;
	} while (m && slowpath_dpdk_used[m - slowpath_dpdk_mbufs] == 3);
}

/* Allocates a packet. If no buffer is free, takes the buffer of a lost packet, else the oldest one of an earlier
 * packet. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) struct rte_mbuf *slowpath_dpdk_make(void)
{
	struct rte_mbuf *m = slowpath_dpdk_take(SLOWPATH_TURNS);
	unsigned at, oldest = SLOWPATH_BUFFERS, is_lost, lost = 0;

	for (at = SLOWPATH_TURNS; !m && at < SLOWPATH_BUFFERS; at++) {
		is_lost = slowpath_dpdk_used[at] == 2;
		if (slowpath_dpdk_taken[at] > slowpath_dpdk_before || is_lost < lost ||
		    (is_lost == lost && oldest < SLOWPATH_BUFFERS && slowpath_dpdk_taken[at] > slowpath_dpdk_taken[oldest]))
			continue;
		oldest = at;
		lost = is_lost;
	}
	if (m || oldest == SLOWPATH_BUFFERS)
		return m;
	if (lost)
		slowpath_dpdk_kept++;
	else
		slowpath_dpdk_stolen++;
	slowpath_dpdk_end(oldest);
	return slowpath_dpdk_take(oldest);
}

/* Drops a reference to a segment; returns true if it was the last. A segment without references is gone, so this is a
 * mistake. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) int slowpath_dpdk_gone(struct rte_mbuf *m)
{
	if (!m->refcnt) {
		if (slowpath_dpdk_stale[m - slowpath_dpdk_mbufs])
			slowpath_dpdk_stale[m - slowpath_dpdk_mbufs]--;
		else
			slowpath_dpdk_totals.again++;
		return 0;
	}
	if (--m->refcnt)
		return 0;
	m->next = 0;
	m->nb_segs = 1;
	slowpath_dpdk_free((unsigned)(m - slowpath_dpdk_mbufs));
	return 1;
}
/* Does the same for a packet and all of its segments. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) int slowpath_dpdk_all_gone(struct rte_mbuf *m)
{
	struct rte_mbuf *next = m->next;
	int last = slowpath_dpdk_gone(m);

	SLOWPATH_LOOP for (m = next; m; m = next) {
		next = m->next;
		slowpath_dpdk_gone(m);
	}
	return last;
}

/* Functions of a card's framework, which are not inlined. The first buffers are for arriving packets. */
SLOWPATH_KEPT struct rte_mbuf *rte_pktmbuf_alloc(struct rte_mempool *pool)
{
	struct rte_mbuf *m = slowpath_dpdk_make();

	(void)pool;
	if (m)
		slowpath_dpdk_totals.made++;
	else
		slowpath_dpdk_totals.unmade++;
	return m;
}

SLOWPATH_KEPT void rte_pktmbuf_free(struct rte_mbuf *m)
{
	if (m && slowpath_dpdk_all_gone(m))
		slowpath_dpdk_totals.killed++;
}
SLOWPATH_KEPT void rte_pktmbuf_free_seg(struct rte_mbuf *m)
{
	if (m && slowpath_dpdk_gone(m))
		slowpath_dpdk_totals.killed++;
}
/* Allocates all packets or none. */
SLOWPATH_INLINE int rte_pktmbuf_alloc_bulk(struct rte_mempool *pool, struct rte_mbuf **packets, unsigned count)
{
	unsigned at;

	SLOWPATH_LOOP for (at = 0; at < count; at++) {
		packets[at] = rte_pktmbuf_alloc(pool);
		if (packets[at])
			continue;
		SLOWPATH_LOOP while (at)
			rte_pktmbuf_free(packets[--at]);
		return -ENOENT;
	}
	return 0;
}
SLOWPATH_INLINE void rte_pktmbuf_free_bulk(struct rte_mbuf **packets, unsigned count)
{
	unsigned at;

	SLOWPATH_LOOP for (at = 0; at < count; at++)
		rte_pktmbuf_free(packets[at]);
}
SLOWPATH_INLINE uint16_t rte_mbuf_refcnt_read(const struct rte_mbuf *m) { return m->refcnt; }
SLOWPATH_INLINE void rte_mbuf_refcnt_set(struct rte_mbuf *m, uint16_t count) { m->refcnt = count; }
SLOWPATH_INLINE uint16_t rte_mbuf_refcnt_update(struct rte_mbuf *m, int16_t more)
{
	return m->refcnt = (uint16_t)(m->refcnt + more);
}

SLOWPATH_INLINE void rte_pktmbuf_refcnt_update(struct rte_mbuf *m, int16_t more)
{
	SLOWPATH_LOOP for (; m; m = m->next)
		rte_mbuf_refcnt_update(m, more);
}
#define __rte_mbuf_sanity_check(m, is_header) ((void)(m), (void)(is_header))

SLOWPATH_INLINE uint16_t rte_pktmbuf_headroom(const struct rte_mbuf *m) { return m->data_off; }
SLOWPATH_INLINE uint16_t rte_pktmbuf_tailroom(const struct rte_mbuf *m)
{
	return (uint16_t)(m->buf_len - m->data_off - m->data_len);
}
SLOWPATH_INLINE int rte_pktmbuf_is_contiguous(const struct rte_mbuf *m) { return m->nb_segs == 1; }
SLOWPATH_INLINE struct rte_mbuf *rte_pktmbuf_lastseg(struct rte_mbuf *m)
{
	SLOWPATH_LOOP while (m->next)
		m = m->next;
	return m;
}
SLOWPATH_INLINE int rte_pktmbuf_chain(struct rte_mbuf *head, struct rte_mbuf *tail)
{
	uint32_t segments = (uint32_t)head->nb_segs + tail->nb_segs;

	if (segments > RTE_MBUF_MAX_NB_SEGS)
		return -EOVERFLOW;
	rte_pktmbuf_lastseg(head)->next = tail;
	head->nb_segs = (uint16_t)segments;
	head->pkt_len += tail->pkt_len;
	tail->pkt_len = tail->data_len;
	return 0;
}
/* Copies bytes out of the segments of a packet, which must have enough. */
SLOWPATH_KEPT void rte_pktmbuf_bytes(const struct rte_mbuf *m, uint32_t offset, uint32_t length, char *to)
{
	uint32_t here;

	SLOWPATH_LOOP for (; length; m = m->next) {
		if (offset >= m->data_len) {
			offset -= m->data_len;
			continue;
		}
		here = RTE_MIN(m->data_len - offset, length);
		memcpy(to, rte_pktmbuf_mtod_offset(m, const char *, offset), here);
		to += here;
		length -= here;
		offset = 0;
	}
}
/* Merges the segments into the first one, if it has room. */
SLOWPATH_KEPT int rte_pktmbuf_gathered(struct rte_mbuf *m)
{
	struct rte_mbuf *seg = m->next, *next;

	if (m->pkt_len - m->data_len > (uint32_t)(m->buf_len - m->data_off - m->data_len))
		return -1;
	SLOWPATH_LOOP for (; seg; seg = next) {
		next = seg->next;
		memcpy(rte_pktmbuf_mtod_offset(m, char *, m->data_len), rte_pktmbuf_mtod(seg, char *), seg->data_len);
		m->data_len = (uint16_t)(m->data_len + seg->data_len);
		slowpath_dpdk_gone(seg);
	}
	m->next = 0;
	m->nb_segs = 1;
	return 0;
}
SLOWPATH_INLINE int rte_pktmbuf_linearize(struct rte_mbuf *m) { return m->nb_segs == 1 ? 0 : rte_pktmbuf_gathered(m); }

SLOWPATH_INLINE char *rte_pktmbuf_prepend(struct rte_mbuf *m, uint16_t length)
{
	if (length > m->data_off)
		return 0;
	m->data_off = (uint16_t)(m->data_off - length);
	m->data_len = (uint16_t)(m->data_len + length);
	m->pkt_len += length;
	return rte_pktmbuf_mtod(m, char *);
}
SLOWPATH_INLINE char *rte_pktmbuf_append(struct rte_mbuf *m, uint16_t length)
{
	struct rte_mbuf *last = rte_pktmbuf_lastseg(m);
	char *end = rte_pktmbuf_mtod_offset(last, char *, last->data_len);

	if (length > rte_pktmbuf_tailroom(last))
		return 0;
	last->data_len = (uint16_t)(last->data_len + length);
	m->pkt_len += length;
	return end;
}
SLOWPATH_INLINE char *rte_pktmbuf_adj(struct rte_mbuf *m, uint16_t length)
{
	if (length > m->data_len)
		return 0;
	m->data_len = (uint16_t)(m->data_len - length);
	m->data_off = (uint16_t)(m->data_off + length);
	m->pkt_len -= length;
	return rte_pktmbuf_mtod(m, char *);
}
SLOWPATH_INLINE int rte_pktmbuf_trim(struct rte_mbuf *m, uint16_t length)
{
	struct rte_mbuf *last = rte_pktmbuf_lastseg(m);

	if (length > last->data_len)
		return -1;
	last->data_len = (uint16_t)(last->data_len - length);
	m->pkt_len -= length;
	return 0;
}
SLOWPATH_INLINE const void *rte_pktmbuf_read(const struct rte_mbuf *m, uint32_t offset, uint32_t length, void *copy)
{
	if (offset > m->pkt_len || length > m->pkt_len - offset)
		return 0;
	SLOWPATH_LOOP while (m->next && offset >= m->data_len) {
		offset -= m->data_len;
		m = m->next;
	}
	if (offset + length <= m->data_len)
		return rte_pktmbuf_mtod_offset(m, const void *, offset);
	rte_pktmbuf_bytes(m, offset, length, (char *)copy);
	return copy;
}

/* Copies a packet with its bytes into one segment, because packets of cards do not share bytes. */
SLOWPATH_KEPT struct rte_mbuf *rte_pktmbuf_copy(const struct rte_mbuf *m, struct rte_mempool *pool, uint32_t offset,
						  uint32_t length)
{
	struct rte_mbuf *made;

	if (offset >= m->pkt_len)
		return 0;
	if (length > m->pkt_len - offset)
		length = m->pkt_len - offset;
	made = length > SLOWPATH_BUFFER - RTE_PKTMBUF_HEADROOM ? 0 : rte_pktmbuf_alloc(pool);
	if (!made)
		return 0;
	made->port = m->port;
	made->ol_flags = m->ol_flags;
	made->packet_type = m->packet_type;
	made->vlan_tci = m->vlan_tci;
	made->hash = m->hash;
	made->tx_offload = m->tx_offload;
	made->data_len = (uint16_t)length;
	made->pkt_len = length;
	rte_pktmbuf_bytes(m, offset, length, rte_pktmbuf_mtod(made, char *));
	return made;
}
SLOWPATH_INLINE struct rte_mbuf *rte_pktmbuf_clone(struct rte_mbuf *m, struct rte_mempool *pool)
{
	return rte_pktmbuf_copy(m, pool, 0, UINT32_MAX);
}
SLOWPATH_INLINE void rte_mbuf_prefetch_part1(struct rte_mbuf *m) { (void)m; }
SLOWPATH_INLINE void rte_mbuf_prefetch_part2(struct rte_mbuf *m) { (void)m; }
/* All buffers are in one pool, whatever the set-up code requests. */
SLOWPATH_INLINE struct rte_mempool *rte_pktmbuf_pool_create(const char *name, unsigned count, unsigned cached,
							    uint16_t beside, uint16_t room, int socket)
{
	(void)name, (void)count, (void)cached, (void)beside, (void)room, (void)socket;
	return &slowpath_dpdk_pool;
}

#include <slowpath_arriving.h>
#endif
