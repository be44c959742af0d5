/* Packets in pieces and together again, packets in order, and prefixes of IPv6, by the bytes of packets: returns
 * what is found. */
#include <rte_errno.h>
#include <rte_fib6.h>
#include <rte_ip.h>
#include <rte_ip_frag.h>
#include <rte_jhash.h>
#include <rte_mbuf.h>
#include <rte_reorder.h>

#define TURN 16
#define ROOM 12
#define LONGEST 1500
#define WAITS 40

static struct rte_mempool *pool;
static struct rte_ip_frag_tbl *table;
static struct rte_ip_frag_death_row dead;
static struct rte_reorder_buffer *order;
static struct rte_fib6 *fib;
static uint64_t now;
static uint32_t expected;

static void start(void)
{
	struct rte_fib6_conf config = {.type = RTE_FIB6_TRIE, .default_nh = 77, .max_routes = 4096};

#ifdef BESIDE
	pool = rte_pktmbuf_pool_create("packets", 1023, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
#else
	pool = &slowpath_dpdk_pool;
#endif
	table = rte_ip_frag_table_create(64, 16, 4, WAITS, SOCKET_ID_ANY);
	order = rte_reorder_create("order", SOCKET_ID_ANY, 16);
	config.trie.nh_sz = RTE_FIB6_TRIE_2B;
	config.trie.num_tbl8 = 4096;
	fib = rte_fib6_create("fib", SOCKET_ID_ANY, &config);
}

static uint32_t summed(const struct rte_mbuf *m, uint32_t before)
{
	static uint8_t copy[4 * LONGEST];
	const void *bytes = rte_pktmbuf_read(m, 0, m->pkt_len, copy);

	return rte_jhash(bytes, m->pkt_len, before + m->pkt_len + m->l3_len);
}

/* A packet whose bytes are numbers. */
static struct rte_mbuf *made(uint32_t length, uint8_t first)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	char *bytes = m ? rte_pktmbuf_append(m, (uint16_t)length) : NULL;
	uint32_t at;

	for (at = 0; bytes && at < length; at++)
		bytes[at] = (char)(first + at * 7 + (at >> 8));
	return m;
}

static int cut(const uint8_t *b, int by_copy)
{
	uint16_t length = (uint16_t)((b[2] << 3 | b[3] % 8) % (LONGEST - 60) + 60), mtu = (uint16_t)(b[4] * 5 + 60);
	struct rte_mbuf *out[ROOM], *m = made(length, b[5]);
	struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod(m, struct rte_ipv4_hdr *);
	uint8_t *options = (uint8_t *)(ip + 1);
	uint32_t sum = 0;
	int count, at;

	ip->version_ihl = (uint8_t)(0x40 | (b[6] % 4 ? 5 : 4 + b[7] % 12));
	ip->fragment_offset = rte_cpu_to_be_16(b[8] % 16 == 0 ? RTE_IPV4_HDR_DF_FLAG : b[8] % 4 == 1 ? 0x2000 | b[9] : 0);
	for (at = 0; at < 40; at++)
		options[at] = at % 5 ? (uint8_t)(b[10] % 8) : (uint8_t)(b[11 + at % 4] & 0x83);
	count = by_copy ? rte_ipv4_fragment_copy_nonseg_packet(m, out, (uint16_t)(b[9] % ROOM + 1), mtu, pool)
			: rte_ipv4_fragment_packet(m, out, (uint16_t)(b[9] % ROOM + 1), mtu, pool, pool);
	for (at = 0; at < count; at++) {
		sum = summed(out[at], sum);
		rte_pktmbuf_free(out[at]);
	}
	rte_pktmbuf_free(m);
	return count < 0 ? count : (int)(sum >> 4) + count;
}

static int cut6(const uint8_t *b)
{
	struct rte_mbuf *out[ROOM], *m = made((uint16_t)(b[2] << 3 | b[3] % 8) % (LONGEST - 60) + 60, b[5]);
	uint32_t sum = 0;
	int count, at;

	count = rte_ipv6_fragment_packet(m, out, (uint16_t)(b[9] % ROOM + 1), (uint16_t)(b[4] + 1270), pool, pool);
	for (at = 0; at < count; at++) {
		sum = summed(out[at], sum);
		rte_pktmbuf_free(out[at]);
	}
	rte_pktmbuf_free(m);
	return count < 0 ? count : (int)(sum >> 4) + count;
}

/* A piece of one of a few packets, in any order, some twice, some with bytes behind. */
static int join(const uint8_t *b)
{
	uint32_t id = b[1] % 6, pieces = 2 + id % 4, which = b[2] % pieces, length = 8 + id * 8, last = which == pieces - 1;
	uint32_t header = id % 2 ? 48 : 20, failed;
	struct rte_mbuf *m = made(14 + header + length + b[3] % 3, (uint8_t)(id + which));
	uint32_t found;

	if (!m)
		return -1000;
	m->l2_len = 14;
	m->l3_len = header;
	if (id % 2) {
		struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv6_hdr *, 14);
		struct rte_ipv6_fragment_ext *piece = (struct rte_ipv6_fragment_ext *)(ip + 1);

		memset(ip, 0, sizeof(*ip));
		ip->src_addr[3] = (uint8_t)id;
		ip->proto = IPPROTO_FRAGMENT;
		ip->payload_len = rte_cpu_to_be_16((uint16_t)(8 + (b[4] % 50 ? length : 0)));
		piece->next_header = IPPROTO_UDP;
		piece->id = id;
		piece->frag_data = rte_cpu_to_be_16((uint16_t)RTE_IPV6_SET_FRAG_DATA(which * length, !last));
		m = rte_ipv6_frag_reassemble_packet(table, &dead, m, now, ip, piece);
	} else {
		struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, 14);

		memset(ip, 0, sizeof(*ip));
		ip->version_ihl = RTE_IPV4_VHL_DEF;
		ip->src_addr = rte_cpu_to_be_32(RTE_IPV4(10, 0, 0, id));
		ip->packet_id = (rte_be16_t)id;
		ip->total_length = rte_cpu_to_be_16((uint16_t)(20 + (b[4] % 50 ? length : 0)));
		ip->fragment_offset = rte_cpu_to_be_16((uint16_t)(which * length / 8 | (last ? 0 : RTE_IPV4_HDR_MF_FLAG)));
		if (!rte_ipv4_frag_pkt_is_fragmented(ip))
			return -2000;
		m = rte_ipv4_frag_reassemble_packet(table, &dead, m, now, ip);
	}
	if (b[5] % 16 == 0)
		rte_ip_frag_table_del_expired_entries(table, &dead, now);
	failed = dead.cnt;
	rte_ip_frag_free_death_row(&dead, 3);
	if (!m)
		return -(int)failed;
	found = summed(m, m->nb_segs);
	rte_pktmbuf_free(m);
	return (int)(found >> 4);
}

/* Numbers that come in about their order, some far ahead, some late. */
static int ordered(const uint8_t *b)
{
	struct rte_mbuf *out[32], *m = made(60, b[1]);
	uint32_t sum = 0, at, found;
	int failed;

	if (!m)
		return -1000;
	*rte_reorder_seqn(m) = expected + b[2] % 8 + (b[3] % 16 ? 0 : b[4] % 64) - (b[5] % 32 ? 0 : 20);
	failed = rte_reorder_insert(order, m);
	if (failed) {
		failed = -rte_errno;
		rte_pktmbuf_free(m);
	} else {
		expected += 1;
	}
	found = rte_reorder_drain(order, out, b[6] % 4 ? 32 : b[7] % 3);
	for (at = 0; at < found; at++) {
		sum = sum * 31 + *rte_reorder_seqn(out[at]) - expected + 100;
		rte_pktmbuf_free(out[at]);
	}
	return failed * 1000 + (int)(sum % 1000);
}

static int prefixes(const uint8_t *b)
{
	uint8_t ips[2][RTE_FIB6_IPV6_ADDR_SIZE] = {{0x20, 1, 0xd, 0xb8}, {0x20, 1, 0xd, 0xb8}};
	uint64_t hops[2] = {0, 0};

	ips[0][b[2] % 16] ^= b[3] & 0x11;
	ips[0][b[4] % 16] ^= b[5] & 0x80;
	ips[1][b[2] % 16] ^= b[6] & 0x11;
	switch (b[1] % 4) {
	case 0: return rte_fib6_add(fib, ips[0], (uint8_t)(b[7] % 128 + 1), b[8] % 100);
	case 1: return rte_fib6_delete(fib, ips[0], (uint8_t)(b[7] % 128 + 1));
	default: return rte_fib6_lookup_bulk(fib, ips, hops, 2) + (int)(1000 * hops[0] + hops[1]);
	}
}

int turn(const uint8_t *b)
{
	now++;
	switch (b[0] % 8) {
	case 0: return cut(b, 0);
	case 1: return cut(b, 1);
	case 2: return cut6(b);
	case 3:
	case 4:
	case 5: return join(b);
	case 6: return ordered(b);
	default: return prefixes(b);
	}
}
#ifdef BESIDE
#include "twin.h"
#else
RTE_INIT(started) { start(); }
int take(const struct rte_mbuf *m) { return turn(rte_pktmbuf_mtod(m, const uint8_t *)); }
#endif
