/* A router of one file of several: ports and tables are set up elsewhere, packets are received in a
 * loop, and something else is called back with them. */
#include <stdbool.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_lpm.h>
#include <rte_mbuf.h>

#define MOST 32

struct core {
	uint16_t queues;
	uint16_t ports[4];
	void *routes;
};

extern struct core cores[4];
extern volatile bool quit;
static struct rte_lpm *tables[2];

static inline void forward(struct rte_mbuf *m, uint16_t port, struct core *core)
{
	const struct rte_ipv4_hdr *ip = rte_pktmbuf_mtod_offset(m, struct rte_ipv4_hdr *, sizeof(struct rte_ether_hdr));
	uint32_t hop = port;

	if (RTE_ETH_IS_IPV4_HDR(m->packet_type) && core->routes)
		rte_lpm_lookup(core->routes, rte_be_to_cpu_32(ip->dst_addr), &hop);
	rte_eth_tx_burst((uint16_t)hop, 0, &m, 1);
}

static inline void forward_all(int count, struct rte_mbuf **packets, uint16_t port, struct core *core)
{
	for (int at = 0; at < count; at++)
		forward(packets[at], port, core);
}

int route_loop(void *nothing)
{
	struct rte_mbuf *packets[MOST];
	struct core *core = &cores[rte_lcore_id()];
	int at, count;

	(void)nothing;
	if (core->queues == 0)
		return 0;
	while (!quit)
		for (at = 0; at < core->queues; at++) {
			count = rte_eth_rx_burst(core->ports[at], 0, packets, MOST);
			if (count)
				forward_all(count, packets, core->ports[at], core);
		}
	return 0;
}

uint16_t look(uint16_t port, uint16_t queue, struct rte_mbuf *packets[], uint16_t count, uint16_t most, void *given)
{
	(void)port, (void)queue, (void)most, (void)given;
	for (int at = 0; at < count; at++)
		packets[at]->packet_type = RTE_PTYPE_UNKNOWN;
	return count;
}

void make_routes(int socket)
{
	struct rte_lpm_config config = {.max_rules = 16, .number_tbl8s = 8};

	tables[socket] = rte_lpm_create("routes", socket, &config);
}
