/* Firewall for TCP and UDP over IPv4 and IPv6: a rule for the exact flow decides; without one, the
 * longest prefix of the source address; without that, the packet passes. Other packets pass.
 *
 * Forms a chain with ipv6_lb: both parse with flow.h.
 *
 * Sources: RFC 4632 (longest prefix), see flow.h.
 *
 * Slowest path, expected: an IPv6 TCP packet without a rule of its own that a prefix drops: both
 * look-ups are made, each hit counts. The trie's look-up costs memory accesses per level.
 */
#include "flow.h"

enum verdict {
	ALLOW,
	DENY,
	VERDICTS,
};

struct rule {
	__u32 verdict;
	__u32 zero;
	__u64 packets;
};

struct prefix {
	__u32 bits; /* IPv4 prefixes are 96 bits longer, see flow.h */
	struct address address;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct flow);
	__type(value, struct rule);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 1024);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, struct rule);
} prefixes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, VERDICTS);
	__type(key, __u32);
	__type(value, __u64);
} verdicts SEC(".maps");

SEC("xdp")
int firewall(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	__u32 verdict = ALLOW;
	struct flow flow = {};
	struct rule *rule;
	__u64 *count;

	if ((void *)(eth + 1) > end)
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IP)) {
		if (parse_flow4((void *)(eth + 1), end, &flow) < 0)
			return XDP_PASS;
	} else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
		if (parse_flow6((void *)(eth + 1), end, &flow) < 0)
			return XDP_PASS;
	} else {
		return XDP_PASS;
	}

	rule = bpf_map_lookup_elem(&rules, &flow);
	if (!rule) {
		struct prefix prefix = { .bits = 8 * sizeof(struct address) };

		prefix.address = flow.source;
		rule = bpf_map_lookup_elem(&prefixes, &prefix);
	}
	if (rule) {
		__sync_fetch_and_add(&rule->packets, 1);
		if (rule->verdict == DENY)
			verdict = DENY;
	}
	count = bpf_map_lookup_elem(&verdicts, &verdict);
	if (count)
		++*count;
	return verdict == DENY ? XDP_DROP : XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
