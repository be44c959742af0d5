/* Firewall for IPv4: drops packets from blocked networks, lets TCP and UDP pass to services that rules
 * allow, and drops the rest; other packets pass. Rules are for an address, a port and a protocol.
 *
 * Both maps are written by whoever configures it, and by no program.
 *
 * Sources: RFC 791, RFC 768, RFC 9293 (headers); RFC 4632 (longest prefix).
 *
 * Slowest path, expected: a packet to a service, from a network that is not blocked.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct network {
	__u32 bits;
	__be32 address;
};

struct service {
	__be32 address;
	__be16 port;
	__u8 protocol;
	__u8 zero;
};

struct rule {
	__u32 action; /* an XDP action */
	__u32 mark;
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct network);
	__type(value, __u32);
} blocked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct service);
	__type(value, struct rule);
} rules SEC(".maps");

SEC("xdp")
int rules_filter(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct network source = { .bits = 32 };
	struct service wanted = {};
	struct rule *rule;
	__be16 *ports;

	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	if (ip->version != 4 || ip->ihl != 5)
		return XDP_DROP;
	if (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP)
		return XDP_PASS;
	ports = (void *)(ip + 1);
	if ((void *)(ports + 2) > end)
		return XDP_DROP;
	source.address = ip->saddr;
	if (bpf_map_lookup_elem(&blocked, &source))
		return XDP_DROP;
	wanted.address = ip->daddr;
	wanted.port = ports[1];
	wanted.protocol = ip->protocol;
	rule = bpf_map_lookup_elem(&rules, &wanted);
	if (!rule)
		return XDP_DROP;
	if (rule->mark)
		ip->tos = rule->mark;
	return rule->action;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
