/* ../udp_counter.cc as far as the card runs it: what rules let through is counted by flow.
 *
 * The host does what the card cannot: programs only add to elements, so sizes, times and gaps of
 * flows, and the largest one, are not noted. There is one array: its first elements have the rules.
 */
#include "card.h"

#define RULES 8
#define NETWORK 0x0a000000 /* 10.0.0.0 */
#define MASK 0xffff0000
#define LOW 5000

struct entry {
	__be32 network; /* of a rule */
	__be32 mask;
	__u16 low;
	__u16 high;
	__u32 zero;
	__u64 packets; /* of a flow */
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENTRIES);
	__type(key, __u32);
	__type(value, struct entry);
} entries SEC(".maps");

static __always_inline int matches(__u32 number, __be32 address, __u16 port)
{
#ifdef FOLLOWED /* rules are in the program: no memory is nearer */
	const struct entry constant = {
		.network = bpf_htonl(NETWORK),
		.mask = bpf_htonl(MASK),
		.low = LOW,
		.high = number == RULES - 1 ? 65535 : LOW + 100 * number,
	};
	const struct entry *rule = &constant;
#else
	const struct entry *rule = bpf_map_lookup_elem(&entries, &number);

	if (!rule)
		return 0;
#endif
#ifdef TOGETHER /* neighbours with one command */
	__u64 window = *(const __u64 *)&rule->network;
	__u32 range = *(const __u32 *)&rule->low;

	return (address & (__u32)(window >> 32)) == (__u32)window && port >= (range & 0xffff) &&
	       port <= range >> 16;
#else
	return (address & rule->mask) == rule->network && port >= rule->low && port <= rule->high;
#endif
}

SEC("xdp")
int udp_counter(struct xdp_md *ctx)
{
	struct headers at;
	struct entry *flow;
	__u32 index, port, number;

	if (find_headers(ctx, &at, 0) < 0 || at.ip->protocol != IPPROTO_UDP)
		return XDP_PASS;
	port = bpf_ntohs(at.ports->destination);
#pragma unroll
	for (number = 0; number < RULES; number++)
		if (matches(number, at.ip->saddr, port))
			goto count;
	return XDP_DROP;
count:
	index = mixed(at.ip->saddr ^ at.ip->daddr ^ at.ports->source << 16 ^ port) % ENTRIES;
	flow = bpf_map_lookup_elem(&entries, &index);
	if (flow) {
		__sync_fetch_and_add(&flow->packets, 1);
		__sync_fetch_and_add(&flow->bytes, (at.end - (void *)at.eth) & 0xffff);
	}
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
