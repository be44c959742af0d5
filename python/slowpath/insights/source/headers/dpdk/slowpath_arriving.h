/* Arriving packets, and what a port reports about them; part of rte_mbuf.h. */
#ifndef SLOWPATH_DPDK_ARRIVING_H
#define SLOWPATH_DPDK_ARRIVING_H
#ifndef SLOWPATH_TYPES
#define SLOWPATH_TYPES 1 /* 1: ports report packet types */
#endif

/* Returns the type of a packet (`RTE_PTYPE_`): Ethernet with VLAN tags, IPv4 or IPv6, and the protocol inside. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) uint32_t slowpath_dpdk_type(const uint8_t *at, uint32_t length)
{
	uint32_t type = RTE_PTYPE_L2_ETHER, protocol, tags = 0, header;

	if (length < 14)
		return 0;
	protocol = (uint32_t)at[12] << 8 | at[13];
	if (protocol == 0x8100 || protocol == 0x88a8) {
		tags = protocol == 0x8100 ? 4 : 8;
		type = tags == 4 ? RTE_PTYPE_L2_ETHER_VLAN : RTE_PTYPE_L2_ETHER_QINQ;
		if (length < 14 + tags)
			return type;
		protocol = (uint32_t)at[12 + tags] << 8 | at[13 + tags];
	}
	at += 14 + tags;
	length -= 14 + tags;
	if (protocol == 0x0800 && length >= 20) {
		header = (at[0] & 15u) * 4;
		if (at[0] >> 4 == 4 && header >= 20)
			type |= header == 20 ? RTE_PTYPE_L3_IPV4 : RTE_PTYPE_L3_IPV4_EXT;
		if ((at[6] & 0x3f) | at[7])
			return type | RTE_PTYPE_L4_FRAG;
		protocol = at[9];
	} else if (protocol == 0x86dd && length >= 40) {
		header = 40;
		protocol = at[6];
		switch (protocol) {
		case 44:
			return type | RTE_PTYPE_L3_IPV6_EXT | (length >= 42 ? RTE_PTYPE_L4_FRAG : 0);
		case 0: case 43: case 50: case 51: case 60:
			return type | RTE_PTYPE_L3_IPV6_EXT;
		default:
			type |= RTE_PTYPE_L3_IPV6;
		}
	} else {
		return type;
	}
	if (protocol == 6)
		return length >= header + 20 ? type | RTE_PTYPE_L4_TCP : type;
	return type | (protocol == 17 ? RTE_PTYPE_L4_UDP : protocol == 132 ? RTE_PTYPE_L4_SCTP : 0);
}

/* Packets that were neither sent nor freed when other packets got their buffers. */
SLOWPATH_C SLOWPATH_ONE uint64_t slowpath_dpdk_overwritten = 0;

/* Callback for functions that get packets one by one. Stores for each buffer 1 if a structure refers to its packet, 2
 * if it is a later segment of an unreferenced packet, else 0. */
SLOWPATH_C SLOWPATH_ONE int32_t (*slowpath_dpdk_seek)(uint8_t *there) = 0;
SLOWPATH_C SLOWPATH_ONE uint8_t slowpath_dpdk_there[SLOWPATH_BUFFERS] = {0};
SLOWPATH_C SLOWPATH_ONE uint32_t slowpath_dpdk_sought = 0; /* packets since the last call of `seek` */
SLOWPATH_C SLOWPATH_ONE uint32_t slowpath_dpdk_given_up = 1; /* packets that it found to be unreferenced */

/* Returns the next buffer whose packet is gone (which: 0), unreferenced (2), or from an earlier burst (1);
 * SLOWPATH_TURNS if there is none. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) unsigned slowpath_dpdk_next(unsigned which)
{
	unsigned tries, at = slowpath_dpdk_turn;

	for (tries = 0; tries < SLOWPATH_TURNS; tries++) {
		at = (at + 1) % SLOWPATH_TURNS;
		if (which == 0 ? !slowpath_dpdk_mbufs[at].refcnt
			       : which == 2 ? slowpath_dpdk_used[at] == 2
					    : slowpath_dpdk_taken[at] <= slowpath_dpdk_before)
			return at;
	}
	return SLOWPATH_TURNS;
}

/* Marks buffers with unreferenced packets: the function returned or lost them. No function runs now, so all its
 * references are in its structures. The search is slow, so it does not run for each packet. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) void slowpath_dpdk_look(int is_full)
{
	unsigned at, is_due = slowpath_dpdk_sought++ >= SLOWPATH_TURNS / 16;

	if (!slowpath_dpdk_seek || !(is_due || (is_full && slowpath_dpdk_given_up)) ||
	    !slowpath_dpdk_seek(slowpath_dpdk_there))
		return;
	slowpath_dpdk_sought = slowpath_dpdk_given_up = 0;
	for (at = 0; at < SLOWPATH_BUFFERS; at++) {
		if (!slowpath_dpdk_used[at] || slowpath_dpdk_taken[at] > slowpath_dpdk_before)
			continue;
		slowpath_dpdk_used[at] = slowpath_dpdk_there[at] == 1 ? 1 : slowpath_dpdk_there[at] ? 3 : 2;
		slowpath_dpdk_given_up += at < SLOWPATH_TURNS && slowpath_dpdk_used[at] == 2;
	}
}

/* Returns a buffer for an arriving packet: one whose packet is gone, else an unreferenced one, else the oldest. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) unsigned slowpath_dpdk_room(void)
{
	unsigned at = slowpath_dpdk_next(0);

	if (slowpath_dpdk_made > SLOWPATH_PACKETS / 2)
		slowpath_dpdk_look(0);
	if (at < SLOWPATH_TURNS)
		return at;
	at = slowpath_dpdk_next(2);
	if (at == SLOWPATH_TURNS) {
		slowpath_dpdk_look(1);
		at = slowpath_dpdk_next(2);
	}
	if (at == SLOWPATH_TURNS) {
		at = slowpath_dpdk_next(1);
		slowpath_dpdk_overwritten++;
	}
	slowpath_dpdk_end(at);
	return at;
}

/* Delivers the next packet of the trace, with what a port reports about it. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) void *slowpath_dpdk_arrive(const unsigned char *bytes, uint32_t captured,
									   uint32_t length, uint64_t now,
									   uint32_t strip)
{
	struct rte_mbuf *m;

	slowpath_dpdk_now = now;
	slowpath_dpdk_turn = slowpath_dpdk_room();
	slowpath_dpdk_used[slowpath_dpdk_turn] = 0;
	m = slowpath_dpdk_take(slowpath_dpdk_turn);
	memcpy(rte_pktmbuf_mtod(m, void *), bytes, captured);
	memset(rte_pktmbuf_mtod_offset(m, char *, captured), 0, length - captured);
	m->data_len = (uint16_t)length;
	m->pkt_len = length;
	m->packet_type = SLOWPATH_TYPES ? slowpath_dpdk_type(rte_pktmbuf_mtod(m, const uint8_t *), length) : 0;
	rte_pktmbuf_adj(m, (uint16_t)(strip < length ? strip : length));
	slowpath_dpdk_burst[0] = m;
	return m;
}

/* Called after a packet: returns how many allocated packets were lost since the last call. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) uint32_t slowpath_dpdk_left(void)
{
	uint32_t left = slowpath_dpdk_kept;

	slowpath_dpdk_before = slowpath_dpdk_taken_last;
	slowpath_dpdk_kept = 0;
	return left;
}
#endif
