/* Functions that take more than packets: each further pointer is to a variable, or to zeros. */
#include <rte_ethdev.h>
#include <rte_hash.h>
#include <rte_ring.h>

#define BURST 4

struct port_conf {
	uint64_t received;
	uint16_t to, held;
	struct rte_mbuf *burst[BURST];
};
struct limits {
	uint32_t longest, dropped;
};
struct numbers {
	uint64_t last, seen;
};
struct hidden;

static struct port_conf confs[RTE_MAX_LCORE];
static struct numbers counted, *numbers;
static struct rte_hash *flows;
static struct rte_ring *queue;

RTE_INIT(start)
{
	struct rte_hash_parameters asked = {.name = "flows", .entries = 64, .key_len = 4};

	confs[0].to = 3;
	confs[1].to = 4;
	numbers = &counted;
	numbers->seen = 100;
	flows = rte_hash_create(&asked);
	queue = rte_ring_create("queue", 16, SOCKET_ID_ANY, 0);
}

void of_a_variable(struct rte_mbuf *m, struct port_conf *conf)
{
	conf->received++;
	rte_eth_tx_burst(conf->to, 0, &m, 1);
}

static __rte_noinline void handed_on(struct rte_mbuf *m, struct port_conf *conf) { of_a_variable(m, conf); }

void of_void(uint16_t port, struct rte_mbuf **packets, uint16_t count, void *userdata)
{
	struct port_conf *conf = userdata;
	uint16_t at;

	conf->received += port + count;
	for (at = 0; at < count; at++)
		rte_eth_tx_burst(conf->to, 0, &packets[at], 1);
}

void of_void_handed_on(void *userdata, struct rte_mbuf *m) { handed_on(m, userdata); }

int of_nothing(struct rte_mbuf *m, __rte_unused void *userdata)
{
	rte_pktmbuf_free(m);
	return 5;
}

void of_zeros(struct rte_mbuf **packets, uint16_t count, struct limits *limits)
{
	uint16_t at;

	for (at = 0; at < count; at++)
		if (rte_pktmbuf_pkt_len(packets[at]) > limits->longest) {
			limits->dropped++;
			rte_pktmbuf_free(packets[at]);
		}
}

int of_numbers(struct rte_mbuf *m, uint32_t *seen, uint64_t now)
{
	rte_pktmbuf_free(m);
	*seen += 1;
	return *seen == 1 || now > 0;
}

int of_a_table(struct rte_hash *table, struct rte_mbuf **packets, uint16_t count)
{
	int found = rte_hash_lookup(table, rte_pktmbuf_mtod(packets[0], char *));

	if (found < 0)
		rte_hash_add_key(table, rte_pktmbuf_mtod(packets[0], char *));
	rte_pktmbuf_free_bulk(packets, count);
	return found >= 0;
}

void that_hold(struct rte_mbuf *m, struct port_conf *conf)
{
	conf->burst[conf->held++] = m;
	if (conf->held == BURST) {
		rte_eth_tx_burst(conf->to, 0, conf->burst, BURST);
		conf->held = 0;
	}
}

void that_queue(struct rte_mbuf *m, struct rte_ring *ring)
{
	if (rte_ring_enqueue(ring, m))
		rte_pktmbuf_free(m);
}

void that_cannot_see(struct rte_mbuf *m, struct hidden *hidden) { rte_eth_tx_burst(hidden != NULL, 0, &m, 1); }

int that_cannot_know(struct rte_mbuf *m, void *anything) { return anything != NULL && m->port; }

int that_were_told(struct rte_mbuf *m, struct rte_ether_hdr *ether) { return ether->ether_type && m->port; }

void that_sort(struct rte_mbuf **packets, uint16_t count, struct rte_mbuf **sorted) { sorted[0] = packets[count - 1]; }
