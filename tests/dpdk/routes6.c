/* IPv6 by longest prefixes: returns the hop, or -1. */
#include <rte_ip.h>
#include <rte_lpm6.h>

static struct rte_lpm6 *routes;

RTE_INIT(start)
{
	struct rte_lpm6_config config = {.max_rules = 5};
	uint8_t ip[16] = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0xff, 0xff};

	routes = rte_lpm6_create("routes", SOCKET_ID_ANY, &config);
	rte_lpm6_add(routes, ip, 32, 1);
	rte_lpm6_add(routes, ip, 64, 2);
	rte_lpm6_add(routes, ip, 65, 3);
	rte_lpm6_add(routes, ip, 128, 4);
	rte_lpm6_add(routes, ip, 31, 9);
	rte_lpm6_add(routes, ip, 31, 5);
	rte_lpm6_add(routes, ip, 33, 6); /* no room */
	rte_lpm6_delete(routes, ip, 31);
}

int route(const struct rte_mbuf *m)
{
	const struct rte_ipv6_hdr *ip = rte_pktmbuf_mtod_offset(m, const struct rte_ipv6_hdr *, 14);
	uint32_t hop;

	return rte_lpm6_lookup(routes, ip->dst_addr, &hop) ? -1 : (int)hop;
}
