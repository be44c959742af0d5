// tc programs that leave their packet in another state. All but `steady` return 2 if they find the
// state that an earlier run left.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <stddef.h>
#include <bpf/bpf_helpers.h>

#define ETH_HLEN 14
#define TTL (ETH_HLEN + 8)
#define CHECK (ETH_HLEN + 10)

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} table SEC(".maps");

SEC("tc") int steady(struct __sk_buff *skb)
{
	return skb->len > 100 ? TC_ACT_SHOT : TC_ACT_OK;
}

SEC("tcx/ingress") int marks(struct __sk_buff *skb)
{
	if (skb->mark || skb->priority || skb->cb[2] || skb->tc_index)
		return TC_ACT_SHOT;
	skb->mark = 7;
	skb->priority = 8;
	skb->cb[2] = 9;
	skb->tc_index = 10;
	return TC_ACT_OK;
}

SEC("tc") int needs_cb(struct __sk_buff *skb)
{
	return skb->cb[1] == 77 && skb->mark == 78 ? TC_ACT_STOLEN : TC_ACT_OK;
}

SEC("tc") int needs_index(struct __sk_buff *skb)
{
	return skb->tc_index == 5 ? TC_ACT_STOLEN : TC_ACT_OK;
}

SEC("tc") int needs_ipv4(struct __sk_buff *skb)
{
	return skb->protocol == 0x0008 ? TC_ACT_STOLEN : TC_ACT_OK;
}

SEC("tc") int sends_ttl(struct __sk_buff *skb)
{
	__u8 ttl;

	if (bpf_skb_load_bytes(skb, TTL, &ttl, 1) < 0 || ttl != 64)
		return TC_ACT_SHOT;
	ttl = 63;
	bpf_l3_csum_replace(skb, CHECK, 64, 63, 2);
	bpf_skb_store_bytes(skb, TTL, &ttl, 1, 0);
	return bpf_redirect(skb->ifindex, 0);
}

SEC("tc") int hashes(struct __sk_buff *skb)
{
	if (skb->hash)
		return TC_ACT_SHOT;
	return bpf_get_hash_recalc(skb) ? TC_ACT_OK : TC_ACT_STOLEN;
}

SEC("tc") int pushes(struct __sk_buff *skb)
{
	if (skb->vlan_present)
		return TC_ACT_SHOT;
	return bpf_skb_vlan_push(skb, 0x0081, 5) ? TC_ACT_STOLEN : TC_ACT_OK;
}

SEC("tc") int adds_room(struct __sk_buff *skb)
{
	if (skb->len > 100)
		return TC_ACT_SHOT;
	return bpf_skb_adjust_room(skb, 20, BPF_ADJ_ROOM_NET, 0) ? TC_ACT_STOLEN : TC_ACT_OK;
}

SEC("tc") int takes_room(struct __sk_buff *skb)
{
	if (skb->len < 60)
		return TC_ACT_SHOT;
	return bpf_skb_adjust_room(skb, -8, BPF_ADJ_ROOM_NET, 0) ? TC_ACT_STOLEN : TC_ACT_OK;
}

SEC("tc") int changes_tail(struct __sk_buff *skb)
{
	if (skb->len > 100)
		return TC_ACT_SHOT;
	return bpf_skb_change_tail(skb, 200, 0) ? TC_ACT_STOLEN : TC_ACT_OK;
}

SEC("tc") int changes_type(struct __sk_buff *skb)
{
	if (skb->pkt_type == 0)
		return TC_ACT_SHOT;
	return bpf_skb_change_type(skb, 0) ? TC_ACT_STOLEN : TC_ACT_OK;
}

SEC("tc") int changes_head(struct __sk_buff *skb)
{
	if (skb->len > 100)
		return TC_ACT_SHOT;
	return bpf_skb_change_head(skb, 16, 0) ? TC_ACT_STOLEN : TC_ACT_OK;
}

SEC("tc") int clones(struct __sk_buff *skb)
{
	bpf_clone_redirect(skb, skb->ifindex, 0);
	return TC_ACT_OK;
}

SEC("tc") int first_of_flow(struct __sk_buff *skb)
{
	__u32 key = 1;
	__u64 value = 0;

	if (bpf_map_lookup_elem(&table, &key))
		return TC_ACT_OK;
	bpf_map_update_elem(&table, &key, &value, BPF_ANY);
	skb->mark = 3;
	return TC_ACT_PIPE;
}

char _license[] SEC("license") = "GPL";
