/* Load balancer for IPv4: packets to a service go to one of its backends, by a hash of their source,
 * with other Ethernet addresses only (direct server return). Other packets pass.
 *
 * Both maps are written by whoever configures it, and by no program.
 *
 * Sources: RFC 791, RFC 768, RFC 9293 (headers).
 *
 * Slowest path, expected: a packet to a service.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MAX_BACKENDS 4

struct service {
	__be32 address;
	__be16 port;
	__u8 protocol;
	__u8 zero;
};

/* Backends from one number on. */
struct pool {
	__u32 first;
	__u32 count;
};

struct backend {
	__u8 address[ETH_ALEN];
	__u8 own[ETH_ALEN]; /* the address that the packet comes from then */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, struct service);
	__type(value, struct pool);
} services SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_BACKENDS);
	__type(key, __u32);
	__type(value, struct backend);
} backends SEC(".maps");

static __always_inline __u32 mixed(__u32 a, __u32 b)
{
	a ^= b * 0x9e3779b1;
	a ^= a >> 15;
	a *= 0x85ebca77;
	return a ^ a >> 13;
}

SEC("xdp")
int backends_of_services(struct xdp_md *ctx)
{
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct iphdr *ip = (void *)(eth + 1);
	struct service wanted = {};
	struct backend *backend;
	struct pool *pool;
	__be16 *ports;
	__u32 number;

	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	if (ip->version != 4 || ip->ihl != 5)
		return XDP_PASS;
	if (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP)
		return XDP_PASS;
	ports = (void *)(ip + 1);
	if ((void *)(ports + 2) > end)
		return XDP_DROP;
	wanted.address = ip->daddr;
	wanted.port = ports[1];
	wanted.protocol = ip->protocol;
	pool = bpf_map_lookup_elem(&services, &wanted);
	if (!pool)
		return XDP_PASS;
	number = pool->first + mixed(ip->saddr, ports[0]) % pool->count;
	backend = bpf_map_lookup_elem(&backends, &number);
	if (!backend)
		return XDP_DROP;
	__builtin_memcpy(eth->h_dest, backend->address, ETH_ALEN);
	__builtin_memcpy(eth->h_source, backend->own, ETH_ALEN);
	return XDP_TX;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
