/* Counts packets and bytes by protocol, and lets all of them pass: IPv4 and IPv6 by their (next)
 * protocol, everything else as one. The first of several programs on an interface.
 *
 * Sources: RFC 791, RFC 8200.
 *
 * Slowest path, expected: IPv6, which is compared last.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define PROTOCOLS 256
#define NOT_IP PROTOCOLS

struct count {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PROTOCOLS + 1);
	__type(key, __u32);
	__type(value, struct count);
} counts SEC(".maps");

SEC("xdp")
int counter(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct ipv6hdr *ip6 = (void *)(eth + 1);
	__u32 protocol = NOT_IP;
	struct count *count;

	if ((void *)(eth + 1) > end)
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IP) && (void *)(ip + 1) <= end)
		protocol = ip->protocol;
	else if (eth->h_proto == bpf_htons(ETH_P_IPV6) && (void *)(ip6 + 1) <= end)
		protocol = ip6->nexthdr;
	count = bpf_map_lookup_elem(&counts, &protocol);
	if (count) {
		count->packets++;
		count->bytes += end - (void *)eth;
	}
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
