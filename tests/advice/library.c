/* An application of DPDK that lets the library sum and hash: in two lines each packet, in one no packet. */
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_hash_crc.h>
#include <rte_ip.h>
#include <rte_jhash.h>

static uint32_t seen[64], others[64], secret;

static void drop(struct rte_mbuf *m)
{
	const struct rte_ether_hdr *ether = rte_pktmbuf_mtod(m, const struct rte_ether_hdr *);

	others[rte_hash_crc(ether, sizeof(*ether), 0) % 64]++;
	rte_pktmbuf_free(m);
}

static void forward(struct rte_mbuf *m)
{
	struct rte_ether_hdr *ether = rte_pktmbuf_mtod(m, struct rte_ether_hdr *);
	struct rte_ipv4_hdr *ip = (struct rte_ipv4_hdr *)(ether + 1);

	if (ether->ether_type != rte_cpu_to_be_16(RTE_ETHER_TYPE_IPV4)) {
		drop(m);
		return;
	}
	seen[rte_jhash(&ip->src_addr, 8, secret) % 64]++;
	ip->time_to_live--;
	ip->hdr_checksum = 0;
	ip->hdr_checksum = rte_ipv4_cksum(ip);
	if (rte_eth_tx_burst(1, 0, &m, 1) == 0)
		rte_pktmbuf_free(m);
}

static uint32_t hashed(const char *text)
{
	uint32_t hash = 5381;

	for (; *text; text++)
		hash = hash * 33 + (unsigned char)*text;
	return hash;
}

uint16_t work(struct rte_mbuf **packets, uint16_t count)
{
	uint16_t at;

	for (at = 0; at < count; at++)
		forward(packets[at]);
	return count;
}

int main(int count, char **words)
{
	struct rte_mbuf *packets[32];
	int at, bit;

	if (rte_eal_init(count, words) < 0)
		return 1;
	for (at = 0; at < count; at++)
		secret ^= hashed(words[at]);
	for (bit = 0; bit < 32; bit++)
		secret = secret >> 1 ^ (secret & 1 ? 0xa3000000 : 0);
	for (;;)
		work(packets, rte_eth_rx_burst(0, 0, packets, 32));
}
