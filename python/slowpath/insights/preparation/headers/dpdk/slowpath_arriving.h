/* Packets that come, and what a port says of them; part of rte_mbuf.h. */
#ifndef SLOWPATH_DPDK_ARRIVING_H
#define SLOWPATH_DPDK_ARRIVING_H
#ifndef SLOWPATH_TYPES
#define SLOWPATH_TYPES 1 /* whether ports know types of packets */
#endif

/* The type of a packet (`RTE_PTYPE_`): Ethernet with tags, IPv4 or IPv6, and what is in these. */
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

/* Packets that were neither sent nor freed when others got their buffers. */
SLOWPATH_C SLOWPATH_ONE uint64_t slowpath_dpdk_overwritten = 0;

/* The next packet of the trace, with what a port says of it. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) void *slowpath_dpdk_arrive(const unsigned char *bytes, uint32_t captured,
									   uint32_t length, uint64_t now,
									   uint32_t strip)
{
	unsigned tries = SLOWPATH_TURNS + 1;
	struct rte_mbuf *m;

	slowpath_dpdk_now = now;
	/* The buffer of a packet that is gone; else the oldest, as packets that are given back look like ones that
	 * wait. */
	do
		slowpath_dpdk_turn = (slowpath_dpdk_turn + 1) % SLOWPATH_TURNS;
	while (slowpath_dpdk_mbufs[slowpath_dpdk_turn].refcnt && --tries);
	slowpath_dpdk_overwritten += slowpath_dpdk_mbufs[slowpath_dpdk_turn].refcnt != 0;
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

/* When packets are done: gives those that were kept, and whose buffers others have now. Buffers of those that came
 * are for the next ones, which take turns. */
SLOWPATH_C SLOWPATH_ONE __attribute__((noinline)) uint32_t slowpath_dpdk_left(void)
{
	uint32_t left = slowpath_dpdk_kept;
	unsigned at;

	for (at = 0; at < SLOWPATH_BUFFERS; at++)
		slowpath_dpdk_used[at] = at >= SLOWPATH_TURNS && slowpath_dpdk_used[at] ? 2 : 0;
	slowpath_dpdk_kept = 0;
	return left;
}
#endif
