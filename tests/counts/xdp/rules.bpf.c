/* A router with a list of those that it does not let through: all that it decides stands in maps that
 * a control plane fills (rules.toml). */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct prefix {
	__u32 bits;
	__u32 address;
};

struct route {
	__u32 port;
	__u8 mac[6];
	__u16 weight;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} blocked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 16);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, struct route);
} routes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} seen SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

static __always_inline int setting(__u32 which)
{
	__u32 *found = bpf_map_lookup_elem(&settings, &which);

	return found ? *found : XDP_ABORTED;
}

SEC("xdp")
int router(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *ether = data;
	struct iphdr *ip = data + sizeof(*ether);
	struct prefix to = { 32, 0 };
	struct route *route;
	__u32 from, *often;
	__u64 *dropped;

	if ((void *)(ip + 1) > end || ether->h_proto != bpf_htons(ETH_P_IP))
		return setting(1);
	from = ip->saddr;
	dropped = bpf_map_lookup_elem(&blocked, &from);
	if (dropped) {
		++*dropped;
		return XDP_DROP;
	}
	to.address = ip->daddr;
	often = bpf_map_lookup_elem(&seen, &to.address);
	if (often)
		++*often;
	route = bpf_map_lookup_elem(&routes, &to);
	if (!route)
		return setting(0);
	route->weight++;
	ip->ttl--;
	__builtin_memcpy(ether->h_dest, route->mac, 6);
	return bpf_redirect_map(&ports, route->port, XDP_PASS);
}

char LICENSE[] SEC("license") = "GPL";
