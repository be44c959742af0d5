/* A tc program as network policies have: it marks packets by port, counts them, and rewrites the
 * type of service of some. Compiled like the objects of crates/kernel/tests/objects. */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>
#include <linux/tcp.h>
#include <stddef.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u16);
	__type(value, __u32);
} marks SEC(".maps");

SEC("tc")
int mark(struct __sk_buff *skb)
{
	void *data, *end;
	struct ethhdr *eth;
	struct iphdr *ip;
	struct tcphdr *tcp;
	__u32 *mark;
	__u16 port;

	if (skb->protocol != bpf_htons(ETH_P_IP))
		return TC_ACT_OK;
	if (bpf_skb_pull_data(skb, sizeof(*eth) + sizeof(*ip) + sizeof(*tcp)) < 0)
		return TC_ACT_OK;
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	eth = data;
	ip = (void *)(eth + 1);
	tcp = (void *)(ip + 1);
	if ((void *)(tcp + 1) > end)
		return TC_ACT_SHOT;
	if (ip->protocol != IPPROTO_TCP || ip->ihl != 5)
		return TC_ACT_OK;
	port = bpf_ntohs(tcp->dest);
	mark = bpf_map_lookup_elem(&marks, &port);
	if (!mark)
		return TC_ACT_OK;
	skb->mark = *mark;
	if (*mark & 0xff) {
		__u16 old = *(__u16 *)ip, new = bpf_htons(bpf_ntohs(old) | (*mark & 0xfc));

		bpf_l3_csum_replace(skb, sizeof(*eth) + offsetof(struct iphdr, check), old, new, 2);
		bpf_skb_store_bytes(skb, sizeof(*eth), &new, sizeof(new), 0);
	}
	if (*mark >> 31)
		return bpf_redirect(skb->ifindex, 0);
	return TC_ACT_OK;
}

char _license[] SEC("license") = "GPL";
