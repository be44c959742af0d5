/* A router in the manner of DPDK: counts flows in a table, and sends to where the longest prefix says. */
#include <rte_ethdev.h>
#include <rte_hash.h>
#include <rte_ip.h>
#include <rte_jhash.h>
#include <rte_lpm.h>
#include <rte_udp.h>

#define FLOWS 1024

struct key {
	uint32_t src, dst;
	uint16_t sport, dport;
	uint8_t proto;
	uint8_t zero[3];
};
struct flow {
	uint64_t packets, bytes, last;
};

static struct flow flows[FLOWS];
static uint64_t dropped[2];
static struct rte_hash *table;
static struct rte_lpm *routes;

RTE_INIT(start)
{
	struct rte_hash_parameters asked = {.name = "flows", .entries = FLOWS, .key_len = sizeof(struct key),
					    .hash_func = rte_jhash};
	struct rte_lpm_config config = {.max_rules = 16, .number_tbl8s = 8};

	table = rte_hash_create(&asked);
	routes = rte_lpm_create("routes", SOCKET_ID_ANY, &config);
	rte_lpm_add(routes, RTE_IPV4(192, 0, 2, 0), 24, 1);
	rte_lpm_add(routes, RTE_IPV4(10, 0, 0, 0), 8, 2);
	rte_lpm_add(routes, RTE_IPV4(10, 0, 0, 0), 30, 3);
}

static void drop(struct rte_mbuf *m, int why)
{
	dropped[why]++;
	rte_pktmbuf_free(m);
}

static void forward(struct rte_mbuf *m)
{
	struct rte_ether_hdr *ether = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(ether + 1);
	struct key key = {0};
	uint32_t hop, sum;
	int32_t at;

	if (rte_pktmbuf_data_len(m) < sizeof(*ether) + sizeof(*ip) ||
	    ether->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4) || ip->time_to_live < 2) {
		drop(m, 0);
		return;
	}
	key.src = ip->src_addr;
	key.dst = ip->dst_addr;
	key.proto = ip->next_proto_id;
	if (ip->next_proto_id == IPPROTO_UDP || ip->next_proto_id == IPPROTO_TCP) {
		struct rte_udp_hdr *udp = (struct rte_udp_hdr *)((char *)ip + rte_ipv4_hdr_len(ip));

		key.sport = udp->src_port;
		key.dport = udp->dst_port;
	}
	at = rte_hash_lookup(table, &key);
	if (at < 0)
		at = rte_hash_add_key(table, &key);
	if (at >= 0) {
		flows[at].packets++;
		flows[at].bytes += rte_pktmbuf_pkt_len(m);
	}
	if (rte_lpm_lookup(routes, rte_be_to_cpu_32(ip->dst_addr), &hop) < 0) {
		drop(m, 1);
		return;
	}
	ip->time_to_live--;
	sum = (uint32_t)ip->hdr_checksum + rte_cpu_to_be_16(0x0100);
	ip->hdr_checksum = (uint16_t)(sum + (sum >> 16));
	if (rte_eth_tx_burst(hop, 0, &m, 1) == 0)
		rte_pktmbuf_free(m);
}

uint16_t route(struct rte_mbuf **packets, uint16_t count)
{
	uint16_t at;

	for (at = 0; at < count; at++)
		forward(packets[at]);
	return count;
}
