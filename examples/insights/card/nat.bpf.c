/* ../nat.cc as far as the card runs it: packets of flows that are open are translated, both ways.
 *
 * The host does what the card cannot: it opens mappings and notes when they were last seen, because
 * programs neither set elements nor ask for the time. There is one array, so a flow from inside gets
 * the port that its hash names, rather than the next one; flows that meet there are the host's.
 */
#include "card.h"

#define NETWORK 0x0a000000 /* 10.0.0.0 */
#define MASK 0xffffff00
#define PUBLIC 0xc0000201 /* 192.0.2.1 */
#define FIRST 1024

#if defined(ORDERED) || defined(FOLLOWED)
struct mapping {
	__be32 inside;
	__be16 inside_port;
	__u8 protocol; /* 0: free */
	__u8 closing;
	__u64 packets;
	__u64 bytes;
	__u64 created;
	__u64 last_seen;
	__be16 public_port;
};
#else
struct mapping {
	__u64 created;
	__be32 inside;
	__be16 inside_port;
	__be16 public_port;
	__u64 packets;
	__u8 protocol; /* 0: free */
	__u8 closing;
	__u64 last_seen;
	__u64 bytes;
};
#endif

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENTRIES);
	__type(key, __u32);
	__type(value, struct mapping);
} mappings SEC(".maps");

/* Who is inside of a mapping. */
struct inside {
	__be32 address;
	__be16 port;
	__u8 protocol;
};

static __always_inline struct inside inside_of(const struct mapping *found)
{
#ifdef FOLLOWED /* all of it with one command */
	__u64 window = *(const __u64 *)found;
	struct inside inside = { window, window >> 32, window >> 48 };
#else
	struct inside inside = { found->inside, found->inside_port, found->protocol };
#endif
	return inside;
}

SEC("xdp")
int nat(struct xdp_md *ctx)
{
	struct headers at;
	struct mapping *found;
	struct inside inside;
	__be32 before, after;
	__u32 index;
	int leaves;

	if (find_headers(ctx, &at, 0) < 0)
		return XDP_PASS;
	if (at.ip->protocol != IPPROTO_TCP && at.ip->protocol != IPPROTO_UDP)
		return XDP_PASS;
	leaves = (at.ip->saddr & bpf_htonl(MASK)) == bpf_htonl(NETWORK);
	if (leaves) {
		index = mixed(at.ip->saddr ^ at.ports->source << 16 ^ at.ip->protocol) % ENTRIES;
	} else {
		index = bpf_ntohs(at.ports->destination) - FIRST;
		if (index >= ENTRIES)
			return XDP_PASS;
	}
	found = bpf_map_lookup_elem(&mappings, &index);
	if (!found)
		return XDP_PASS;
	inside = inside_of(found);
	if (inside.protocol != at.ip->protocol)
		return XDP_PASS;
	if (leaves && (inside.address != at.ip->saddr || inside.port != at.ports->source))
		return XDP_PASS;
	__sync_fetch_and_add(&found->packets, 1);
	__sync_fetch_and_add(&found->bytes, (at.end - (void *)at.eth) & 0xffff);
	if (leaves) {
		before = at.ip->saddr;
		after = at.ip->saddr = bpf_htonl(PUBLIC);
		at.ports->source = bpf_htons(FIRST + index);
	} else {
		before = at.ip->daddr;
		after = at.ip->daddr = inside.address;
		at.ports->destination = inside.port;
	}
	at.ip->check = corrected(at.ip->check, before, after);
	return XDP_TX;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
