/* Lets TCP over IPv6 pass to ports that are open only, and no segments with flags that no connection has:
 * none of SYN, ACK and RST, or SYN with FIN or RST. Other packets pass.
 *
 * Which ports are open is a bit for each, in words of 64.
 *
 * Sources: RFC 8200; RFC 9293 section 3.1 (flags), 3.10.7.4.
 *
 * Slowest path, expected: a TCP packet to an open port.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define PORTS 65536

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORTS / 64);
	__type(key, __u32);
	__type(value, __u64);
} open SEC(".maps");

SEC("xdp")
int port_filter(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct ipv6hdr *ip = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip + 1);
	__u64 *ports;
	__u32 word;
	__u32 port;

	if ((void *)(ip + 1) > end)
		return XDP_PASS;
	if (eth->h_proto != bpf_htons(ETH_P_IPV6) || ip->version != 6)
		return XDP_PASS;
	if (ip->nexthdr != IPPROTO_TCP)
		return XDP_PASS;
	if ((void *)(tcp + 1) > end)
		return XDP_DROP;
	if (tcp->syn ? tcp->fin || tcp->rst : !(tcp->ack || tcp->rst))
		return XDP_DROP;
	port = bpf_ntohs(tcp->dest);
	word = port / 64;
	ports = bpf_map_lookup_elem(&open, &word);
	if (!ports)
		return XDP_DROP;
	return *ports >> (port % 64) & 1 ? XDP_PASS : XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
