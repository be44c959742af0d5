/* Fragmentation and reassembly of IPv4 and IPv6 (RFC 791, RFC 8200). A fragment is a header with a copy of its bytes in
 * a second segment, because packets of cards do not share bytes. Fragments wait in buckets of four datagrams. Each call
 * site that creates a table has its own table of at most `SLOWPATH_DATAGRAMS` datagrams. */
#ifndef SLOWPATH_DPDK_IP_FRAG_H
#define SLOWPATH_DPDK_IP_FRAG_H
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_jhash.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#ifndef SLOWPATH_DATAGRAMS
#define SLOWPATH_DATAGRAMS 256 /* a power of two, 4 or more */
#endif
#define SLOWPATH_BUCKET 4
#if SLOWPATH_DATAGRAMS < SLOWPATH_BUCKET
#error "SLOWPATH_DATAGRAMS is less than a bucket has: take 4 or more"
#endif
#define RTE_IP_FRAG_DEATH_ROW_LEN 32
#define RTE_IP_FRAG_DEATH_ROW_MBUF_LEN (RTE_IP_FRAG_DEATH_ROW_LEN * (RTE_LIBRTE_IP_FRAG_MAX_FRAG + 1))
#define IP_FRAG_DEATH_ROW_LEN RTE_IP_FRAG_DEATH_ROW_LEN
#define IP_FRAG_DEATH_ROW_MBUF_LEN RTE_IP_FRAG_DEATH_ROW_MBUF_LEN
#define ipv6_extension_fragment rte_ipv6_fragment_ext

/* Packets to free. */
struct rte_ip_frag_death_row {
	uint32_t cnt;
	struct rte_mbuf *row[RTE_IP_FRAG_DEATH_ROW_MBUF_LEN];
};

struct rte_ip_frag_pkt {
	struct {
		uint64_t addresses[4]; /* for IPv4, only the first is used */
		uint32_t id;
		uint32_t words; /* used addresses; 0: the entry is free */
	} key;
	uint64_t start;
	uint32_t whole; /* bytes of all fragments; UINT32_MAX: unknown */
	uint32_t there; /* bytes of the fragments so far */
	uint32_t next;  /* index for the next fragment that is neither first nor last */
	struct {
		struct rte_mbuf *m;
		uint16_t offset, length;
	} pieces[RTE_LIBRTE_IP_FRAG_MAX_FRAG]; /* last fragment, first fragment, others in order of arrival */
};
struct rte_ip_frag_tbl {
	struct rte_ip_frag_pkt packets[SLOWPATH_DATAGRAMS];
	uint64_t longest;
	uint32_t most, used;
};
#define SLOWPATH_LAST 0
#define SLOWPATH_FIRST 1

/* --- fragmentation --- */

/* Copies the options that all fragments need; returns their length, a multiple of four. */
SLOWPATH_KEPT uint32_t rte_ipv4_copied_options(const uint8_t *from, uint32_t length, uint8_t *to)
{
	uint32_t made = 0;

	SLOWPATH_LOOP while (length && *from != RTE_IPV4_HDR_OPT_EOL) {
		uint32_t here = 1;

		if (*from != RTE_IPV4_HDR_OPT_NOP) {
			here = length > 1 ? from[1] : 0;
			if (here < 2 || here > length)
				break;
			if (RTE_IPV4_HDR_OPT_COPIED(*from)) {
				memcpy(to + made, from, here);
				made += here;
			}
		}
		from += here;
		length -= here;
	}
	SLOWPATH_LOOP while (made % RTE_IPV4_IHL_MULTIPLIER)
		to[made++] = RTE_IPV4_HDR_OPT_EOL;
	return made;
}

/* Creates a fragment: room for a header, then `bytes` bytes of a packet in a second segment; without `bytes`, in the
 * same segment. */
SLOWPATH_KEPT struct rte_mbuf *rte_ip_piece(const struct rte_mbuf *in, uint32_t at, uint32_t length, uint32_t header,
					    struct rte_mempool *headers, struct rte_mempool *bytes)
{
	struct rte_mbuf *made = rte_pktmbuf_alloc(headers), *rest;

	if (!made)
		return 0;
	made->data_len = (uint16_t)header;
	made->pkt_len = header;
	if (!bytes || !length) {
		rte_pktmbuf_bytes(in, at, length, rte_pktmbuf_mtod_offset(made, char *, header));
		made->data_len = (uint16_t)(header + length);
		made->pkt_len = header + length;
		return made;
	}
	rest = rte_pktmbuf_copy(in, bytes, at, length);
	if (!rest) {
		rte_pktmbuf_free(made);
		return 0;
	}
	rte_pktmbuf_chain(made, rest);
	return made;
}

SLOWPATH_KEPT int32_t rte_ipv4_pieces(struct rte_mbuf *in, struct rte_mbuf **out, uint16_t room, uint16_t mtu,
				      struct rte_mempool *headers, struct rte_mempool *bytes)
{
	struct rte_ipv4_hdr *ip;
	uint8_t made[RTE_IPV4_HDR_OPT_MAX_LEN + sizeof(struct rte_ipv4_hdr)];
	uint32_t header, each, flags, at, offset, length, count = 0;

	if (!in || !out || !room || !headers || mtu < RTE_ETHER_MIN_MTU)
		return -EINVAL;
	ip = rte_pktmbuf_mtod(in, struct rte_ipv4_hdr *);
	header = rte_ipv4_hdr_len(ip);
	if (in->data_len < header || mtu < header)
		return -EINVAL;
	each = (mtu - header) & ~7u;
	flags = rte_be_to_cpu_16(ip->fragment_offset);
	if (flags & RTE_IPV4_HDR_DF_FLAG)
		return -ENOTSUP;
	if (each * room < (uint16_t)(in->pkt_len - header) || header < sizeof(*ip))
		return -EINVAL;
	memcpy(made, ip, header);
	at = header;
	offset = 0;
	SLOWPATH_LOOP do {
		struct rte_ipv4_hdr *to;

		length = RTE_MIN(each, in->pkt_len - at);
		out[count] = rte_ip_piece(in, at, length, header, headers, bytes);
		if (!out[count]) {
			rte_pktmbuf_free_bulk(out, count);
			return -ENOMEM;
		}
		to = rte_pktmbuf_mtod(out[count], struct rte_ipv4_hdr *);
		memcpy(to, made, header);
		to->fragment_offset = rte_cpu_to_be_16((uint16_t)(
			(flags + (offset >> 3)) | (at + length < in->pkt_len ? RTE_IPV4_HDR_MF_FLAG : 0)));
		to->total_length = rte_cpu_to_be_16((uint16_t)(header + length));
		to->hdr_checksum = 0;
		out[count++]->l3_len = header;
		/* Fragments after the first only have the options that all need. */
		if (!offset && header > sizeof(*ip) && !(flags & RTE_IPV4_HDR_OFFSET_MASK)) {
			header = sizeof(*ip) + rte_ipv4_copied_options((uint8_t *)(ip + 1), header - (uint32_t)sizeof(*ip),
								       made + sizeof(*ip));
			made[0] = (uint8_t)((made[0] & 0xf0) | header / RTE_IPV4_IHL_MULTIPLIER);
		}
		at += length;
		offset += length;
	} while (at < in->pkt_len);
	return (int32_t)count;
}
SLOWPATH_INLINE int32_t rte_ipv4_fragment_packet(struct rte_mbuf *in, struct rte_mbuf **out, uint16_t room, uint16_t mtu,
						 struct rte_mempool *direct, struct rte_mempool *indirect)
{
	return indirect ? rte_ipv4_pieces(in, out, room, mtu, direct, indirect) : -EINVAL;
}
SLOWPATH_INLINE int32_t rte_ipv4_fragment_copy_nonseg_packet(struct rte_mbuf *in, struct rte_mbuf **out, uint16_t room,
							     uint16_t mtu, struct rte_mempool *direct)
{
	return rte_ipv4_pieces(in, out, room, mtu, direct, 0);
}
SLOWPATH_KEPT int32_t rte_ipv6_fragment_packet(struct rte_mbuf *in, struct rte_mbuf **out, uint16_t room, uint16_t mtu,
					       struct rte_mempool *direct, struct rte_mempool *indirect)
{
	const uint32_t plain = sizeof(struct rte_ipv6_hdr), header = plain + sizeof(struct rte_ipv6_fragment_ext);
	uint32_t each, at, length, count = 0;

	if (!in || !out || !room || !direct || !indirect || mtu < RTE_IPV6_MIN_MTU)
		return -EINVAL;
	each = (mtu - header) & ~7u;
	if (each * room < (uint16_t)(in->pkt_len - plain))
		return -EINVAL;
	at = plain;
	SLOWPATH_LOOP do {
		struct rte_ipv6_fragment_ext *piece;
		struct rte_ipv6_hdr *to;

		length = RTE_MIN(each, in->pkt_len - at);
		out[count] = rte_ip_piece(in, at, length, header, direct, indirect);
		if (!out[count]) {
			rte_pktmbuf_free_bulk(out, count);
			return -ENOMEM;
		}
		to = rte_pktmbuf_mtod(out[count], struct rte_ipv6_hdr *);
		count++;
		memcpy(to, rte_pktmbuf_mtod(in, void *), plain);
		piece = (struct rte_ipv6_fragment_ext *)(to + 1);
		piece->next_header = to->proto;
		piece->reserved = 0;
		piece->frag_data = rte_cpu_to_be_16((uint16_t)RTE_IPV6_SET_FRAG_DATA(
			(int)(at - plain), at + length < in->pkt_len));
		piece->id = 0;
		to->proto = IPPROTO_FRAGMENT;
		to->payload_len = rte_cpu_to_be_16((uint16_t)(header - plain + length));
		at += length;
	} while (at < in->pkt_len);
	return (int32_t)count;
}

/* --- reassembly --- */

SLOWPATH_KEPT struct rte_ip_frag_tbl *rte_ip_frag_table_started(struct rte_ip_frag_tbl *table, uint32_t buckets,
								uint32_t entries, uint32_t most, uint64_t longest)
{
	if (!rte_is_power_of_2(entries) || !buckets || 2ull * rte_align32pow2(buckets) * entries < most)
		return 0;
	table->longest = longest;
	table->most = RTE_MIN(most, (uint32_t)SLOWPATH_DATAGRAMS);
	return table;
}
#define rte_ip_frag_table_create(buckets, entries, most, longest, socket) __extension__({ \
	static struct rte_ip_frag_tbl rte_ip_frag_tbl; \
	(void)(socket); \
	rte_ip_frag_table_started(&rte_ip_frag_tbl, buckets, entries, most, longest); \
})

/* Marks a packet to be freed; frees it at once if the list is full. */
SLOWPATH_INLINE void rte_ip_frag_dead(struct rte_ip_frag_death_row *row, struct rte_mbuf *m)
{
	if (row->cnt < RTE_DIM(row->row))
		row->row[row->cnt++] = m;
	else
		rte_pktmbuf_free(m);
}
/* Drops the fragments of a datagram. */
SLOWPATH_KEPT void rte_ip_frag_give_up(struct rte_ip_frag_pkt *one, struct rte_ip_frag_death_row *row)
{
	uint32_t at;

	SLOWPATH_LOOP for (at = 0; at < one->next; at++) {
		if (one->pieces[at].m)
			rte_ip_frag_dead(row, one->pieces[at].m);
		one->pieces[at].m = 0;
	}
	one->next = 0;
}
SLOWPATH_INLINE int rte_ip_frag_is_late(const struct rte_ip_frag_tbl *table, const struct rte_ip_frag_pkt *one, uint64_t now)
{
	return one->key.words && table->longest + one->start < now;
}
/* Returns the datagram that waited longest, if its time is up. */
SLOWPATH_KEPT struct rte_ip_frag_pkt *rte_ip_frag_latest(struct rte_ip_frag_tbl *table, uint64_t now)
{
	struct rte_ip_frag_pkt *found = 0;
	uint32_t at;

	SLOWPATH_LOOP for (at = 0; at < SLOWPATH_DATAGRAMS; at++) {
		struct rte_ip_frag_pkt *one = &table->packets[at];

		if (rte_ip_frag_is_late(table, one, now) && (!found || one->start < found->start))
			found = one;
	}
	return found;
}
SLOWPATH_INLINE void rte_ip_frag_begin(struct rte_ip_frag_pkt *one, uint64_t now)
{
	one->start = now;
	one->whole = UINT32_MAX;
	one->there = 0;
	one->next = SLOWPATH_FIRST + 1;
	one->pieces[SLOWPATH_LAST].m = one->pieces[SLOWPATH_FIRST].m = 0;
}
SLOWPATH_INLINE void rte_ip_frag_end(struct rte_ip_frag_tbl *table, struct rte_ip_frag_pkt *one)
{
	one->key.words = 0;
	table->used--;
}

/* Finds the entry for a datagram's fragments; returns 0 if no entry is free. */
SLOWPATH_KEPT struct rte_ip_frag_pkt *rte_ip_frag_find(struct rte_ip_frag_tbl *table, struct rte_ip_frag_death_row *row,
						       const uint64_t *addresses, uint32_t words, uint32_t id, uint64_t now)
{
	uint32_t first = rte_jhash(addresses, words * 8, id) % (SLOWPATH_DATAGRAMS / SLOWPATH_BUCKET) * SLOWPATH_BUCKET, at;
	struct rte_ip_frag_pkt *one, *room = 0, *late = 0;

	SLOWPATH_LOOP for (at = first; at < first + SLOWPATH_BUCKET; at++) {
		one = &table->packets[at];
		if (!one->key.words) {
			room = room ? room : one;
		} else if (one->key.id == id && one->key.words == words && !memcmp(one->key.addresses, addresses, words * 8)) {
			if (rte_ip_frag_is_late(table, one, now)) {
				rte_ip_frag_give_up(one, row);
				rte_ip_frag_begin(one, now);
			}
			return one;
		} else if (!late && rte_ip_frag_is_late(table, one, now)) {
			late = one;
		}
	}
	if (late)
		room = late;
	else if (room && table->used >= table->most)
		late = rte_ip_frag_latest(table, now);
	if (late) {
		rte_ip_frag_give_up(late, row);
		rte_ip_frag_end(table, late);
	}
	if (!room || table->used >= table->most) {
		slowpath_dpdk_totals.refused++;
		return 0;
	}
	memcpy(room->key.addresses, addresses, words * 8);
	room->key.id = id;
	room->key.words = words;
	table->used++;
	rte_ip_frag_begin(room, now);
	return room;
}

/* Links all fragments behind the first; returns 0 if one is missing or some overlap. */
SLOWPATH_KEPT struct rte_mbuf *rte_ip_frag_chained(struct rte_ip_frag_pkt *one)
{
	uint32_t from = SLOWPATH_LAST, offset = one->pieces[SLOWPATH_LAST].offset, at;
	struct rte_mbuf *m = one->pieces[SLOWPATH_LAST].m, *before;

	SLOWPATH_LOOP while (m) {
		int is_first = offset == one->pieces[SLOWPATH_FIRST].length;

		at = SLOWPATH_FIRST;
		SLOWPATH_LOOP for (before = 0; !is_first && !before && at + 1 < one->next;) {
			at++;
			if (one->pieces[at].m && one->pieces[at].offset + one->pieces[at].length == offset)
				before = one->pieces[at].m;
		}
		before = is_first ? one->pieces[SLOWPATH_FIRST].m : before;
		if (!before)
			return 0;
		rte_pktmbuf_adj(m, (uint16_t)(m->l2_len + m->l3_len));
		rte_pktmbuf_chain(before, m);
		one->pieces[from].m = 0;
		m = before;
		if (is_first) {
			one->pieces[SLOWPATH_FIRST].m = 0;
			return m;
		}
		from = at;
		offset = one->pieces[at].offset;
	}
	return 0;
}

/* Adds a fragment; returns the datagram if it is complete. */
SLOWPATH_KEPT struct rte_mbuf *rte_ip_frag_put(struct rte_ip_frag_tbl *table, struct rte_ip_frag_pkt *one,
					       struct rte_ip_frag_death_row *row, struct rte_mbuf *m, uint32_t offset,
					       uint32_t length, int more)
{
	uint32_t at = UINT32_MAX;

	one->there += length;
	if (!offset) {
		at = one->pieces[SLOWPATH_FIRST].m ? UINT32_MAX : SLOWPATH_FIRST;
	} else if (!more) {
		one->whole = offset + length;
		at = one->pieces[SLOWPATH_LAST].m ? UINT32_MAX : SLOWPATH_LAST;
	} else if (one->next < RTE_DIM(one->pieces)) {
		at = one->next++;
	}
	if (at == UINT32_MAX) { /* a duplicate, or too many fragments */
		rte_ip_frag_give_up(one, row);
		rte_ip_frag_end(table, one);
		rte_ip_frag_dead(row, m);
		return 0;
	}
	one->pieces[at].m = m;
	one->pieces[at].offset = (uint16_t)offset;
	one->pieces[at].length = (uint16_t)length;
	if (one->there < one->whole)
		return 0;
	m = one->there == one->whole && one->pieces[SLOWPATH_FIRST].m ? rte_ip_frag_chained(one) : 0;
	if (!m)
		rte_ip_frag_give_up(one, row);
	rte_ip_frag_end(table, one);
	return m;
}

/* `length` is the number of bytes in the fragment. */
SLOWPATH_INLINE struct rte_ip_frag_pkt *rte_ip_frag_packet(struct rte_ip_frag_tbl *table, struct rte_ip_frag_death_row *row,
							   struct rte_mbuf *m, const uint64_t *addresses, uint32_t words,
							   uint32_t id, uint64_t now, int32_t length)
{
	int32_t behind = (int32_t)m->pkt_len - (length + (int32_t)m->l3_len + (int32_t)m->l2_len);
	struct rte_ip_frag_pkt *one;

	if (length > 0 && behind > 0)
		rte_pktmbuf_trim(m, (uint16_t)behind);
	one = length > 0 ? rte_ip_frag_find(table, row, addresses, words, id, now) : 0;
	if (!one)
		rte_ip_frag_dead(row, m);
	return one;
}
SLOWPATH_KEPT struct rte_mbuf *rte_ipv4_frag_reassemble_packet(struct rte_ip_frag_tbl *table,
							       struct rte_ip_frag_death_row *row, struct rte_mbuf *m,
							       uint64_t now, struct rte_ipv4_hdr *ip)
{
	uint32_t flags = rte_be_to_cpu_16(ip->fragment_offset), whole;
	int32_t length = rte_be_to_cpu_16(ip->total_length) - (int32_t)m->l3_len;
	struct rte_ip_frag_pkt *one;
	uint64_t addresses[1];

	memcpy(addresses, &ip->src_addr, sizeof(addresses));
	one = rte_ip_frag_packet(table, row, m, addresses, 1, ip->packet_id, now, length);
	if (!one)
		return 0;
	m = rte_ip_frag_put(table, one, row, m, (uint16_t)((flags & RTE_IPV4_HDR_OFFSET_MASK) * RTE_IPV4_HDR_OFFSET_UNITS),
			    (uint32_t)length, (flags & RTE_IPV4_HDR_MF_FLAG) != 0);
	if (!m)
		return 0;
	whole = one->whole;
	ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, m->l2_len);
	ip->total_length = rte_cpu_to_be_16((uint16_t)(whole + m->l3_len));
	ip->fragment_offset = ip->fragment_offset & rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG);
	ip->hdr_checksum = 0;
	return m;
}
SLOWPATH_KEPT struct rte_mbuf *rte_ipv6_frag_reassemble_packet(struct rte_ip_frag_tbl *table,
							       struct rte_ip_frag_death_row *row, struct rte_mbuf *m,
							       uint64_t now, struct rte_ipv6_hdr *ip,
							       struct rte_ipv6_fragment_ext *piece)
{
	int32_t length = rte_be_to_cpu_16(ip->payload_len) - (int32_t)sizeof(*piece);
	uint32_t data = rte_be_to_cpu_16(piece->frag_data);
	struct rte_ip_frag_pkt *one;
	uint64_t addresses[4];
	uint32_t whole;

	memcpy(addresses, &ip->src_addr, sizeof(addresses));
	one = rte_ip_frag_packet(table, row, m, addresses, 4, piece->id, now, length);
	if (!one)
		return 0;
	m = rte_ip_frag_put(table, one, row, m, data & (uint16_t)RTE_IPV6_EHDR_FO_MASK, (uint32_t)length,
			    RTE_IPV6_GET_MF(data) != 0);
	if (!m)
		return 0;
	whole = one->whole;
	/* Removes the fragment header: the headers in front of it move up. */
	ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv6_hdr *, m->l2_len);
	piece = (struct rte_ipv6_fragment_ext *)(ip + 1);
	ip->payload_len = rte_cpu_to_be_16((uint16_t)whole);
	ip->proto = piece->next_header;
	memmove(rte_pktmbuf_mtod_offset(m, char *, sizeof(*piece)), rte_pktmbuf_mtod(m, char *),
		m->l2_len + m->l3_len - sizeof(*piece));
	rte_pktmbuf_adj(m, sizeof(*piece));
	return m;
}

SLOWPATH_INLINE int rte_ipv4_frag_pkt_is_fragmented(const struct rte_ipv4_hdr *ip)
{
	return (rte_be_to_cpu_16(ip->fragment_offset) & (RTE_IPV4_HDR_OFFSET_MASK | RTE_IPV4_HDR_MF_FLAG)) != 0;
}
SLOWPATH_INLINE struct rte_ipv6_fragment_ext *rte_ipv6_frag_get_ipv6_fragment_header(struct rte_ipv6_hdr *ip)
{
	return ip->proto == IPPROTO_FRAGMENT ? (struct rte_ipv6_fragment_ext *)(ip + 1) : 0;
}
SLOWPATH_KEPT void rte_ip_frag_free_death_row(struct rte_ip_frag_death_row *row, uint32_t ahead)
{
	(void)ahead;
	rte_pktmbuf_free_bulk(row->row, row->cnt);
	row->cnt = 0;
}
SLOWPATH_KEPT void rte_ip_frag_table_del_expired_entries(struct rte_ip_frag_tbl *table, struct rte_ip_frag_death_row *row,
							 uint64_t now)
{
	struct rte_ip_frag_pkt *one;

	SLOWPATH_LOOP while ((one = rte_ip_frag_latest(table, now)) != 0) {
		if (RTE_IP_FRAG_DEATH_ROW_MBUF_LEN - row->cnt < one->next)
			return;
		rte_ip_frag_give_up(one, row);
		rte_ip_frag_end(table, one);
	}
}
SLOWPATH_KEPT void rte_ip_frag_table_destroy(struct rte_ip_frag_tbl *table)
{
	uint32_t at, piece;

	SLOWPATH_LOOP for (at = 0; at < SLOWPATH_DATAGRAMS; at++)
		SLOWPATH_LOOP for (piece = 0; table->packets[at].key.words && piece < table->packets[at].next; piece++)
			rte_pktmbuf_free(table->packets[at].pieces[piece].m);
	memset(table, 0, sizeof(*table));
}
SLOWPATH_C void rte_ip_frag_table_statistics_dump(FILE *to, const struct rte_ip_frag_tbl *table);
#endif
