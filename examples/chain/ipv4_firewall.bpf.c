/* Drops everything but TCP and UDP over IPv4 in whole packets: no VLAN tags, no options, no fragments,
 * and none that would be dropped by the next router (TTL below 2).
 *
 * Sources: RFC 791, RFC 768, RFC 9293 section 3.1.
 *
 * Slowest path, expected: a UDP packet that passes.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define NOT_WHOLE 0x3fff /* more fragments, or not the first one */

SEC("xdp")
int ipv4_firewall(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	void *transport = ip + 1;

	if (transport > end)
		return XDP_DROP;
	if (eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_DROP;
	if (ip->version != 4 || ip->ihl != 5)
		return XDP_DROP;
	if (ip->frag_off & bpf_htons(NOT_WHOLE) || ip->ttl < 2)
		return XDP_DROP;
	switch (ip->protocol) {
	case IPPROTO_TCP:
		return transport + sizeof(struct tcphdr) > end ? XDP_DROP : XDP_PASS;
	case IPPROTO_UDP:
		return transport + sizeof(struct udphdr) > end ? XDP_DROP : XDP_PASS;
	}
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
