/* What must be the same with DPDK's own headers: places of members, constants, hashes, checksums, meters, and
 * what becomes of packets that grow, shrink, and are put together. */
#include <stdio.h>
#include <string.h>
#include <rte_acl.h>
#include <rte_arp.h>
#include <rte_byteorder.h>
#include <rte_common.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_gre.h>
#include <rte_mpls.h>
#include <rte_sctp.h>
#include <rte_vxlan.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_icmp.h>
#include <rte_ip.h>
#include <rte_ip_frag.h>
#include <rte_jhash.h>
#include <rte_mbuf.h>
#include <rte_meter.h>
#include <rte_net.h>
#include <rte_reorder.h>
#include <rte_tcp.h>
#include <rte_timer.h>
#include <rte_udp.h>
#include <rte_vect.h>

#define AT(type, member) printf("%s.%s %zu\n", #type, #member, offsetof(struct type, member))
#define SIZE(type) printf("%s %zu\n", #type, sizeof(struct type))
#ifdef SLOWPATH_DPDK_ARRIVING_H
static uint32_t type(const struct rte_mbuf *m) { return slowpath_dpdk_type(m->buf_addr, m->pkt_len); }
#else
static uint32_t type(const struct rte_mbuf *m)
{
	return rte_net_get_ptype(m, NULL, RTE_PTYPE_L2_MASK | RTE_PTYPE_L3_MASK | RTE_PTYPE_L4_MASK);
}
#endif
#define SAY(x) printf("%s %llx\n", #x, (unsigned long long)(x))

static uint64_t seed = 88172645463325252ull;
static uint64_t drawn(void)
{
	seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
	return seed;
}

static void layouts(void)
{
	SIZE(rte_mbuf), AT(rte_mbuf, buf_addr), AT(rte_mbuf, buf_iova), AT(rte_mbuf, data_off), AT(rte_mbuf, refcnt);
	AT(rte_mbuf, nb_segs), AT(rte_mbuf, port), AT(rte_mbuf, ol_flags), AT(rte_mbuf, packet_type);
	AT(rte_mbuf, pkt_len), AT(rte_mbuf, data_len), AT(rte_mbuf, vlan_tci), AT(rte_mbuf, hash);
	AT(rte_mbuf, vlan_tci_outer), AT(rte_mbuf, buf_len), AT(rte_mbuf, pool), AT(rte_mbuf, next);
	AT(rte_mbuf, tx_offload), AT(rte_mbuf, shinfo), AT(rte_mbuf, priv_size), AT(rte_mbuf, timesync);
	AT(rte_mbuf, dynfield1);
	SIZE(rte_ether_hdr), AT(rte_ether_hdr, src_addr), AT(rte_ether_hdr, ether_type), SIZE(rte_vlan_hdr);
	SIZE(rte_ipv4_hdr), AT(rte_ipv4_hdr, total_length), AT(rte_ipv4_hdr, packet_id);
	AT(rte_ipv4_hdr, fragment_offset), AT(rte_ipv4_hdr, time_to_live), AT(rte_ipv4_hdr, next_proto_id);
	AT(rte_ipv4_hdr, hdr_checksum), AT(rte_ipv4_hdr, src_addr), AT(rte_ipv4_hdr, dst_addr);
	SIZE(rte_ipv6_hdr), AT(rte_ipv6_hdr, payload_len), AT(rte_ipv6_hdr, proto), AT(rte_ipv6_hdr, src_addr);
	SIZE(rte_udp_hdr), AT(rte_udp_hdr, dgram_cksum), SIZE(rte_tcp_hdr), AT(rte_tcp_hdr, recv_ack);
	AT(rte_tcp_hdr, tcp_flags), AT(rte_tcp_hdr, cksum), SIZE(rte_icmp_hdr), AT(rte_icmp_hdr, icmp_ident);
	SIZE(rte_arp_hdr), AT(rte_arp_hdr, arp_opcode), AT(rte_arp_hdr, arp_data);
}

static void constants(void)
{
	SAY(RTE_MBUF_F_RX_VLAN), SAY(RTE_MBUF_F_RX_RSS_HASH), SAY(RTE_MBUF_F_RX_L4_CKSUM_BAD);
	SAY(RTE_MBUF_F_RX_IP_CKSUM_BAD), SAY(RTE_MBUF_F_RX_VLAN_STRIPPED), SAY(RTE_MBUF_F_RX_IP_CKSUM_MASK);
	SAY(RTE_MBUF_F_RX_L4_CKSUM_MASK), SAY(RTE_MBUF_F_TX_TCP_SEG), SAY(RTE_MBUF_F_TX_TCP_CKSUM);
	SAY(RTE_MBUF_F_TX_UDP_CKSUM), SAY(RTE_MBUF_F_TX_L4_MASK), SAY(RTE_MBUF_F_TX_IP_CKSUM);
	SAY(RTE_MBUF_F_TX_IPV4), SAY(RTE_MBUF_F_TX_IPV6), SAY(RTE_MBUF_F_TX_VLAN), SAY(RTE_PTYPE_L3_IPV4);
	SAY(RTE_PTYPE_L3_IPV6), SAY(RTE_PTYPE_L4_UDP), SAY(RTE_PTYPE_L4_TCP), SAY(RTE_PTYPE_L3_IPV4_EXT);
	SAY(RTE_ETHER_TYPE_IPV4), SAY(RTE_ETHER_TYPE_IPV6), SAY(RTE_ETHER_TYPE_ARP), SAY(RTE_ETHER_TYPE_VLAN);
	SAY(RTE_ETHER_TYPE_QINQ), SAY(RTE_ETHER_TYPE_MPLS), SAY(RTE_ETHER_HDR_LEN), SAY(RTE_ETHER_MAX_LEN);
	SAY(RTE_IPV4(1, 2, 3, 4)), SAY(RTE_IPV4_HDR_DF_FLAG), SAY(RTE_IPV4_HDR_OFFSET_MASK);
	SAY(RTE_TCP_SYN_FLAG), SAY(RTE_TCP_ACK_FLAG), SAY(RTE_TCP_FIN_FLAG), SAY(RTE_TCP_RST_FLAG);
	SAY(RTE_BE16(0x1234)), SAY(rte_cpu_to_be_32(0x12345678)), SAY(rte_be_to_cpu_64(0x0123456789abcdefull));
	SAY(rte_align32pow2(1)), SAY(rte_align32pow2(17)), SAY(rte_align32pow2(4096)), SAY(rte_is_power_of_2(0));
	SAY(rte_is_power_of_2(96)), SAY(RTE_ALIGN_CEIL(33u, 32u)), SAY(RTE_ALIGN_FLOOR(33u, 32u));
	SAY(rte_log2_u32(1)), SAY(rte_log2_u32(1000)), SAY(rte_bsf32(40)), SAY(RTE_CACHE_LINE_SIZE);
	SAY(RTE_ETH_RX_OFFLOAD_CHECKSUM), SAY(RTE_ETH_RX_OFFLOAD_VLAN_STRIP), SAY(RTE_ETH_RX_OFFLOAD_SCATTER);
	SAY(RTE_ETH_RX_OFFLOAD_RSS_HASH), SAY(RTE_ETH_RX_OFFLOAD_TIMESTAMP), SAY(RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
	SAY(RTE_ETH_TX_OFFLOAD_TCP_TSO), SAY(RTE_ETH_TX_OFFLOAD_MULTI_SEGS), SAY(RTE_ETH_TX_OFFLOAD_SCTP_CKSUM);
	SAY(RTE_ETH_RSS_IP), SAY(RTE_ETH_RSS_TCP), SAY(RTE_ETH_RSS_UDP), SAY(RTE_ETH_MQ_RX_RSS), SAY(SKIP_MAIN);
	SAY(RTE_ETHER_TYPE_QINQ1), SAY(RTE_ETHER_TYPE_RARP), SAY(RTE_ETHER_TYPE_LLDP), SAY(RTE_ETHER_TYPE_1588);
	SAY(RTE_ETHER_TYPE_PPPOE_SESSION), SAY(RTE_ETHER_TYPE_MPLSM), SAY(RTE_ETHER_MIN_MTU);
	SAY(RTE_ETHER_MAX_JUMBO_FRAME_LEN), SAY(RTE_MBUF_F_TX_TUNNEL_MASK), SAY(RTE_ETHER_ADDR_FMT_SIZE);
	SIZE(rte_sctp_hdr), SIZE(rte_mpls_hdr), SIZE(rte_vxlan_hdr), SIZE(rte_gre_hdr), SAY(RTE_VXLAN_DEFAULT_PORT);
	AT(rte_gre_hdr, proto), AT(rte_mpls_hdr, ttl), AT(rte_sctp_hdr, cksum), AT(rte_vxlan_hdr, vx_vni);
	SAY(sizeof(struct rte_eth_stats)), AT(rte_eth_stats, rx_nombuf);
	SAY(RTE_PKTMBUF_HEADROOM), SAY(RTE_MBUF_DEFAULT_BUF_SIZE);
	SAY(RTE_MBUF_F_RX_IEEE1588_PTP), SAY(RTE_MBUF_F_RX_IEEE1588_TMST), SAY(RTE_MBUF_F_TX_IEEE1588_TMST);
	SAY(RTE_PTYPE_L3_IPV4_EXT_UNKNOWN), SAY(RTE_PTYPE_L3_IPV6_EXT), SAY(RTE_PTYPE_L3_IPV6_EXT_UNKNOWN);
	SAY(RTE_LEN2MASK(5, uint32_t)), SAY(RTE_LEN2MASK(64, uint64_t)), SAY(RTE_ETH_LINK_FULL_DUPLEX);
	SAY(RTE_IS_IPV4_MCAST(RTE_IPV4(223, 255, 255, 255))), SAY(RTE_IS_IPV4_MCAST(RTE_IPV4(224, 0, 0, 0)));
	SAY(RTE_ETH_EVENT_INTR_LSC), SAY(RTE_MBUF_MAX_NB_SEGS), SAY(RTE_HASH_NAMESIZE);
	SIZE(rte_timer), AT(rte_timer, expire), AT(rte_timer, status), AT(rte_timer, period), AT(rte_timer, arg);
	SIZE(rte_acl_rule), AT(rte_acl_rule, field), SIZE(rte_acl_field_def), AT(rte_acl_config, defs);
	SAY(RTE_ACL_RULE_SZ(5)), SAY(RTE_ACL_MAX_PRIORITY), SIZE(rte_fib_conf), AT(rte_fib_conf, dir24_8);
	SIZE(rte_fib6_conf), AT(rte_fib6_conf, trie), SAY(RTE_FIB6_MAXDEPTH), SAY(RTE_FIB6_TRIE_8B);
	SIZE(rte_ipv6_fragment_ext), AT(rte_ipv6_fragment_ext, frag_data), AT(rte_ipv6_fragment_ext, id);
	SAY(RTE_IPV6_MIN_MTU), SAY(RTE_IPV6_EHDR_FO_ALIGN), SAY(RTE_IPV6_FRAG_USED_MASK), SAY(RTE_IPV6_FRAG_HDR_SIZE);
	SAY(RTE_IPV6_SET_FRAG_DATA(1237, 1)), SAY(RTE_IPV6_GET_FO(1237)), SAY(RTE_IPV6_GET_MF(1237)), SAY(RTE_IPV4_VHL_DEF);
	SAY(RTE_IPV4_HDR_OPT_COPIED(0x94)), SAY(RTE_IPV4_HDR_OPT_MAX_LEN), SAY(RTE_IP_FRAG_DEATH_ROW_LEN);
	SIZE(rte_ip_frag_death_row), AT(rte_ip_frag_death_row, row), SAY(sizeof(rte_reorder_seqn_t));
	SAY(sizeof(xmm_t)), SAY(sizeof(rte_xmm_t)), SAY(XMM_MASK), SAY(RTE_VECT_SIMD_512), SAY(RTE_VECT_SIMD_MAX);
	SAY(sizeof(rte_v128u8_t)), SAY(sizeof(rte_v256s64_t)), SAY(sizeof(rte_v64s16_t)), SAY(__alignof__(rte_v256u32_t));
	SAY(RTE_PTYPE_L2_ETHER_QINQ), SAY(RTE_PTYPE_L4_FRAG), SAY(RTE_PTYPE_L4_SCTP), SAY(sizeof(struct rte_net_hdr_lens));
}

static void sums(void)
{
	uint8_t data[256] __attribute__((aligned(8)));
	struct rte_ether_addr a, b;
	int run, at;

	for (run = 0; run < 300; run++) {
		struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)data;
		struct rte_ipv6_hdr *ip6 = (struct rte_ipv6_hdr *)data;
		uint32_t length = drawn() % 200;

		for (at = 0; at < 256; at++)
			data[at] = (uint8_t)drawn();
		SAY(rte_raw_cksum(data, length));
		SAY(rte_jhash(data, length, (uint32_t)run));
		SAY(rte_jhash_32b((uint32_t *)data, length % 13, (uint32_t)run));
		SAY(rte_jhash_1word(length, 7)), SAY(rte_jhash_2words(length, 9, 7)), SAY(rte_jhash_3words(length, 9, 1, 7));
		SAY(rte_hash_crc(data, length, (uint32_t)run)), SAY(rte_hash_crc_4byte(length, 5)), SAY(rte_hash_crc_8byte(seed, 5));
		ip->version_ihl = 0x40 | (5 + run % 4);
		ip->next_proto_id = run % 2 ? IPPROTO_UDP : IPPROTO_TCP;
		ip->total_length = rte_cpu_to_be_16((uint16_t)(rte_ipv4_hdr_len(ip) + length % 100));
		SAY(rte_ipv4_cksum(ip)), SAY(rte_ipv4_phdr_cksum(ip, 0)), SAY(rte_ipv4_phdr_cksum(ip, RTE_MBUF_F_TX_TCP_SEG));
		SAY(rte_ipv4_udptcp_cksum(ip, data + 40)), SAY(rte_ipv4_udptcp_cksum_verify(ip, data + 40));
		ip6->payload_len = rte_cpu_to_be_16((uint16_t)(length % 100));
		ip6->proto = run % 2 ? IPPROTO_UDP : IPPROTO_TCP;
		SAY(rte_ipv6_phdr_cksum(ip6, 0)), SAY(rte_ipv6_udptcp_cksum(ip6, data + 40));
		memcpy(&a, data, 6), memcpy(&b, data + (run % 3 ? 6 : 0), 6);
		SAY(rte_is_same_ether_addr(&a, &b)), SAY(rte_is_multicast_ether_addr(&a)), SAY(rte_is_broadcast_ether_addr(&a));
	}
}

static void grown(void)
{
	static char buffer[4096];
	struct rte_mbuf m;
	int run;

	memset(&m, 0, sizeof(m));
	m.buf_addr = buffer, m.buf_len = sizeof(buffer), m.data_off = RTE_PKTMBUF_HEADROOM;
	m.nb_segs = 1, m.refcnt = 1, m.data_len = 100, m.pkt_len = 100;
	for (run = 0; run < 2000; run++) {
		uint16_t length = (uint16_t)(drawn() % (run % 7 ? 200 : 5000));
		char *at = 0;
		int failed = 0;

		switch (drawn() % 5) {
		case 0: at = rte_pktmbuf_prepend(&m, length); break;
		case 1: at = rte_pktmbuf_append(&m, length); break;
		case 2: at = rte_pktmbuf_adj(&m, length); break;
		case 3: failed = rte_pktmbuf_trim(&m, length); break;
		default: at = (char *)rte_pktmbuf_read(&m, length, 20, buffer);
		}
		printf("%d %ld %d %u %u %u %u %u %ld\n", run, at ? (long)(at - buffer) : -1, failed, m.data_off, m.data_len,
		       m.pkt_len, rte_pktmbuf_headroom(&m), rte_pktmbuf_tailroom(&m),
		       (long)(rte_pktmbuf_mtod_offset(&m, char *, 3) - buffer));
	}
}

static void tagged(void)
{
	static char buffer[512];
	struct rte_mbuf m, *one = &m;
	int run, found, at;

	memset(&m, 0, sizeof(m));
	m.buf_addr = buffer, m.buf_len = sizeof(buffer), m.data_off = 20;
	m.nb_segs = 1, m.data_len = 100, m.pkt_len = 100;
	for (at = 0; at < 512; at++)
		buffer[at] = (char)at;
	for (run = 0; run < 60; run++) {
		m.refcnt = (uint16_t)(run % 13 ? 1 : 2);
		m.ol_flags ^= run % 3 ? 0 : 1ULL << 45;
		found = drawn() % 2 ? rte_vlan_strip(one) : rte_vlan_insert(&one);
		SAY(found), SAY(m.ol_flags), SAY(m.vlan_tci), SAY(m.data_off), SAY(m.pkt_len), SAY(m.tx_offload);
		SAY(rte_jhash(rte_pktmbuf_mtod(one, char *), 40, 0));
		m.vlan_tci = (uint16_t)drawn();
	}
}

/* Rates are in cycles, which differ; what follows from them does not. */
static void metered(void)
{
	struct rte_meter_srtcm_profile single = {3000, 5000, 100, 7};
	struct rte_meter_trtcm_profile two = {3000, 4000, 130, 6, 100, 9};
	struct rte_meter_trtcm_rfc4115_profile apart = {3000, 4000, 130, 6, 170, 5};
	struct rte_meter_srtcm a = {0, 3000, 5000};
	struct rte_meter_trtcm b = {0, 0, 3000, 4000};
	struct rte_meter_trtcm_rfc4115 c = {0, 0, 3000, 4000};
	uint64_t now = 0;
	int run;

	for (run = 0; run < 1500; run++) {
		uint32_t length = drawn() % 1500;
		enum rte_color color = (enum rte_color)(drawn() % RTE_COLORS);

		now += drawn() % 20000;
		if (run % 4 == 0)
			color = RTE_COLOR_GREEN;
		SAY(run % 2 ? rte_meter_srtcm_color_blind_check(&a, &single, now, length)
			    : rte_meter_srtcm_color_aware_check(&a, &single, now, length, color));
		SAY(run % 2 ? rte_meter_trtcm_color_blind_check(&b, &two, now, length)
			    : rte_meter_trtcm_color_aware_check(&b, &two, now, length, color));
		SAY(run % 2 ? rte_meter_trtcm_rfc4115_color_blind_check(&c, &apart, now, length)
			    : rte_meter_trtcm_rfc4115_color_aware_check(&c, &apart, now, length, color));
		SAY(a.time), SAY(a.tc), SAY(a.te), SAY(b.time_tc), SAY(b.time_tp), SAY(b.tc), SAY(b.tp);
		SAY(c.time_tc), SAY(c.time_te), SAY(c.tc), SAY(c.te);
	}
	SIZE(rte_meter_srtcm), SIZE(rte_meter_trtcm), SIZE(rte_meter_trtcm_rfc4115), SIZE(rte_meter_srtcm_profile);
	AT(rte_meter_trtcm_profile, pir_bytes_per_period), AT(rte_meter_trtcm_rfc4115_profile, eir_period);
}

static void asked_of_meters(void)
{
	struct rte_meter_srtcm_profile single;
	struct rte_meter_trtcm_profile two;
	struct rte_meter_trtcm_rfc4115_profile apart;
	int run;

	for (run = 0; run < 81; run++) {
		uint64_t rate = run % 3 * 1000000, other = run / 3 % 3 * 1000000, first = run / 9 % 3, second = run / 27;
		struct rte_meter_srtcm_params a = {rate, first, second};
		struct rte_meter_trtcm_params b = {rate, other, first, second};
		struct rte_meter_trtcm_rfc4115_params c = {rate, other, first, second};

		SAY(rte_meter_srtcm_profile_config(&single, &a)), SAY(rte_meter_trtcm_profile_config(&two, &b));
		SAY(rte_meter_trtcm_rfc4115_profile_config(&apart, &c));
	}
}

static void chained(void)
{
	static char buffers[4][400], copy[1600];
	struct rte_mbuf of[4], *m = &of[0];
	int run, at;

	for (at = 0; at < 4; at++) {
		memset(&of[at], 0, sizeof(of[at]));
		memset(buffers[at], at + 1, sizeof(buffers[at]));
		of[at].buf_addr = buffers[at], of[at].buf_len = 400, of[at].data_off = 128;
		of[at].nb_segs = of[at].refcnt = 1;
		of[at].data_len = (uint16_t)(40 * at + 10), of[at].pkt_len = of[at].data_len;
	}
	SAY(rte_pktmbuf_chain(&of[2], &of[3])), SAY(rte_pktmbuf_chain(m, &of[1])), SAY(rte_pktmbuf_chain(m, &of[2]));
	for (run = 0; run < 600; run++) {
		uint32_t offset = drawn() % 400, length = drawn() % 200;
		const char *found = (const char *)rte_pktmbuf_read(m, offset, length, copy);
		char *grown = drawn() % 2 ? rte_pktmbuf_append(m, (uint16_t)(length / 4)) : 0;

		SAY(found == NULL), SAY(found == copy);
		SAY(found == NULL ? 0 : rte_jhash(found, length, 0));
		SAY(grown ? grown - buffers[3] : 0);
		SAY(drawn() % 2 ? rte_pktmbuf_trim(m, (uint16_t)(length / 4)) : 0);
		SAY(rte_pktmbuf_lastseg(m) - of), SAY(m->nb_segs), SAY(m->pkt_len), SAY(m->data_len), SAY(of[3].data_len);
		SAY(rte_pktmbuf_is_contiguous(m)), SAY(of[2].pkt_len), SAY(of[3].pkt_len);
	}
}

/* What a port says of packets that come; of DPDK, what its library does where a port does not. */
static void typed(void)
{
	static const uint16_t kinds[] = {0x0800, 0x0800, 0x86dd, 0x86dd, 0x8100, 0x88a8, 0x0806};
	static const uint8_t inside[] = {6, 17, 132, 1, 58, 47, 44};
	uint8_t data[128];
	struct rte_mbuf m;
	int run, at;

	memset(&m, 0, sizeof(m));
	m.buf_addr = data, m.buf_len = sizeof(data), m.nb_segs = m.refcnt = 1;
	for (run = 0; run < 4000; run++) {
		uint16_t kind = kinds[drawn() % RTE_DIM(kinds)], second = kinds[drawn() % 4];
		int tags = kind == 0x8100 ? 4 : kind == 0x88a8 ? 8 : 0;
		uint8_t *ip = data + 14 + tags;

		for (at = 0; at < 128; at++)
			data[at] = (uint8_t)drawn();
		data[12] = (uint8_t)(kind >> 8), data[13] = (uint8_t)kind;
		if (tags)
			ip[-2] = (uint8_t)(second >> 8), ip[-1] = (uint8_t)second;
		if ((tags ? second : kind) == 0x0800) {
			ip[0] = (uint8_t)(run % 9 ? 0x45 : drawn());
			ip[9] = inside[drawn() % 6];
			ip[6] = run % 3 ? 0x40 : ip[6], ip[7] = run % 3 ? 0 : ip[7];
		} else {
			ip[6] = inside[drawn() % 7];
		}
		m.data_len = (uint16_t)(run % 4 ? 60 + drawn() % 68 : drawn() % 80), m.pkt_len = m.data_len;
		SAY(type(&m));
	}
}

int main(void)
{
	typed();
	chained();
	metered();
	asked_of_meters();
	tagged();
	layouts();
	constants();
	sums();
	grown();
	return 0;
}
