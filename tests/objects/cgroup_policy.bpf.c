/* A filter for the packets of a cgroup: a policy by protocol and destination port, with a counter.
 * Compiled like the objects of crates/kernel/tests/objects. */
#include <linux/bpf.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u16);
	__type(value, __u64);
} ports SEC(".maps");

SEC("cgroup_skb/egress")
int policy(struct __sk_buff *skb)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	struct iphdr *ip = data;
	struct tcphdr tcp;
	__u64 *bytes;
	__u16 port;

	if (skb->family != 2)
		return 1;
	if ((void *)(ip + 1) > end)
		return 0;
	if (ip->protocol != IPPROTO_TCP)
		return 1;
	if (bpf_skb_load_bytes(skb, ip->ihl * 4, &tcp, sizeof(tcp)) < 0)
		return 0;
	port = bpf_ntohs(tcp.dest);
	bytes = bpf_map_lookup_elem(&ports, &port);
	if (!bytes)
		return skb->mark == 7;
	__sync_fetch_and_add(bytes, skb->len);
	skb->priority = port;
	return tcp.syn && !tcp.ack ? 3 : 1;
}

char _license[] SEC("license") = "GPL";
