// Filters for packets of cgroups and sockets, and actions: fields of struct __sk_buff, packet loads
// of classic BPF, and calls. Results go to the map `out`. Compiled like helpers.bpf.c, with clang
// 16.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define xdp_md __sk_buff
#include "words.h"

#define FIELD(n, name) put(n, skb->name)
#define PART(n, type, name, at) put(n, *(volatile type *)((char *)&skb->name + (at)))

unsigned long long load_byte(void *skb, unsigned long long at) asm("llvm.bpf.load.byte");
unsigned long long load_half(void *skb, unsigned long long at) asm("llvm.bpf.load.half");
unsigned long long load_word(void *skb, unsigned long long at) asm("llvm.bpf.load.word");

/* Fields of the packet and of its socket. */
SEC("cgroup_skb/ingress") int cgroup_fields(struct __sk_buff *skb)
{
	FIELD(0, len);
	FIELD(1, pkt_type);
	put(2, skb->mark ^ (__u64)skb->priority << 32);
	put(3, skb->queue_mapping ^ (__u64)skb->tc_index << 32);
	FIELD(4, protocol);
	put(5, skb->ifindex ^ (__u64)skb->ingress_ifindex << 32);
	put(6, skb->gso_segs ^ (__u64)skb->gso_size << 32);
	FIELD(7, tstamp);
	FIELD(8, hwtstamp);
	FIELD(9, family);
	put(10, skb->remote_ip4 ^ (__u64)skb->local_ip4 << 32);
	put(11, skb->remote_ip6[0] ^ (__u64)skb->local_ip6[0] << 32);
	put(12, skb->remote_ip6[1] ^ (__u64)skb->local_ip6[2] << 32);
	put(13, skb->remote_ip6[3] ^ (__u64)skb->local_ip6[3] << 32);
	put(14, skb->remote_port ^ (__u64)skb->local_port << 32);
	put(15, (long)skb->data_end - (long)skb->data);
	return skb->family == 2;
}

SEC("cgroup_skb/egress") int cgroup_stores(struct __sk_buff *skb)
{
	struct input in;

	if (arguments(skb, &in))
		return 2;
	skb->mark = in.w[0];
	skb->priority = in.w[1];
	skb->tstamp = in.w[2];
	skb->cb[0] = in.w[3];
	*(volatile __u16 *)((char *)&skb->cb[1] + 2) = in.w[4];
	*(volatile __u64 *)&skb->cb[2] = in.w[5];
	FIELD(0, mark);
	FIELD(1, priority);
	FIELD(2, tstamp);
	FIELD(3, cb[0]);
	FIELD(4, cb[1]);
	FIELD(5, cb[3]);
	PART(6, __u8, family, 0);
	PART(7, __u16, local_port, 0);
	return in.w[6] & 3;
}

/* Bytes at any place of the packet. */
static __always_inline __u64 peek(struct __sk_buff *skb, __u64 at)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	data += at & 127;
	return data + 8 <= end ? *(__u64 *)data : 77;
}

SEC("cgroup/skb") int cgroup_calls(struct __sk_buff *skb)
{
	struct input in;
	__u64 value = 0;

	if (arguments(skb, &in))
		return 0;
	put(0, bpf_skb_load_bytes(skb, (__s16)in.w[0], &value, 8));
	put(1, value);
	put(2, bpf_skb_load_bytes_relative(skb, in.w[1] & 127, &value, 8, in.w[1] >> 8 & 1));
	put(3, value);
	put(4, bpf_skb_load_bytes_relative(skb, in.w[2] & 0x1ffff, &value, 8, in.w[2] >> 20 & 3));
	put(5, bpf_skb_cgroup_id(skb));
	put(6, bpf_skb_ancestor_cgroup_id(skb, 1));
	put(7, bpf_get_socket_cookie(skb));
	put(8, bpf_get_socket_uid(skb));
	put(9, peek(skb, in.w[3]));
	put(10, bpf_skb_ecn_set_ce(skb));
	put(11, peek(skb, in.w[4]));
	return 1;
}

SEC("socket") int socket_fields(struct __sk_buff *skb)
{
	FIELD(0, len);
	FIELD(1, pkt_type);
	FIELD(2, mark);
	FIELD(3, priority);
	FIELD(4, protocol);
	put(5, skb->ifindex ^ (__u64)skb->ingress_ifindex << 32);
	put(6, skb->gso_segs ^ (__u64)skb->gso_size << 32);
	put(7, skb->queue_mapping ^ (__u64)skb->tc_index << 32);
	FIELD(8, cb[2]);
	skb->cb[1] = skb->mark;
	*(volatile __u64 *)&skb->cb[2] = 1ull << 40 | skb->cb[0];
	FIELD(9, cb[1]);
	FIELD(10, cb[3]);
	PART(11, __u16, mark, 2);
	return skb->len;
}

SEC("socket") int socket_calls(struct __sk_buff *skb)
{
	struct input in;
	__u64 value = 0;

	if (bpf_skb_load_bytes(skb, 0, &in, sizeof(in)))
		return -1;
	put(0, bpf_skb_load_bytes(skb, (__s16)in.w[0], &value, 7));
	put(1, value);
	put(2, bpf_skb_load_bytes_relative(skb, in.w[1] & 127, &value, 8, in.w[1] >> 8 & 3));
	put(3, bpf_get_socket_cookie(skb));
	put(4, bpf_get_socket_uid(skb));
	return in.w[2];
}

/* Loads at constant places. */
SEC("socket/constant") int constant_loads(struct __sk_buff *skb)
{
	put(0, load_byte(skb, 0));
	put(1, load_half(skb, 12));
	put(2, load_word(skb, 13));
	put(3, load_word(skb, 60));
	put(4, load_half(skb, 63));
	put(5, load_byte(skb, 64));
	put(6, load_word(skb, 160));
	put(7, load_half(skb, 1500));
	return load_word(skb, 3000);
}

/* Loads at places that the packet selects. */
SEC("socket/variable") int variable_loads(struct __sk_buff *skb)
{
	__u64 at = load_half(skb, 0) & 127, far = load_half(skb, 2);

	put(0, load_byte(skb, at));
	put(1, load_half(skb, at + 1));
	put(2, load_word(skb, at + 2));
	put(3, load_word(skb, (far & 0xfff) + (1ull << 32)));
	put(4, load_byte(skb, far));
	return 1;
}

/* Loads relative to headers, and outside of all packets. */
SEC("socket/negative") int negative_loads(struct __sk_buff *skb)
{
	__u64 choice = load_byte(skb, 0);

	put(0, choice);
	switch (choice & 7) {
	case 0:
		put(1, load_word(skb, -0x100000ll + 1));
		break;
	case 1:
		put(1, load_half(skb, -0x200000ll + 12));
		break;
	case 2:
		put(1, load_byte(skb, -1ll));
		break;
	case 3:
		put(1, load_byte(skb, -0x200001ll));
		break;
	case 4:
		put(1, load_byte(skb, 0x7fffffffll));
		break;
	case 5:
		put(1, load_word(skb, 0x7ffffffell));
		break;
	default:
		put(1, load_half(skb, (choice >> 3) - 0x100000ll));
	}
	put(2, 1);
	return 2;
}

/* In a function, a load outside of the packet ends the function only. */
static __attribute__((noinline)) int half(struct __sk_buff *skb, __u64 at)
{
	return load_half(skb, at & 255) + 1;
}

SEC("action") int load_in_function(struct __sk_buff *skb)
{
	__u64 at = load_byte(skb, 3);

	put(0, half(skb, at));
	put(1, half(skb, load_byte(skb, 4)));
	put(2, peek(skb, at));
	skb->tc_classid = load_half(skb, at);
	FIELD(3, tc_classid);
	return skb->protocol & 7;
}

SEC("act/second") int action_calls(struct __sk_buff *skb)
{
	struct input in;

	if (arguments(skb, &in))
		return 2;
	put(0, bpf_skb_store_bytes(skb, in.w[0] & 63, &in.w[1], 8, 0));
	put(1, load_word(skb, in.w[0] & 63));
	put(2, bpf_skb_vlan_push(skb, 0x0081, in.w[2]));
	put(3, load_half(skb, 12));
	put(4, bpf_skb_change_tail(skb, 70 + (in.w[3] & 63), 0));
	put(5, load_byte(skb, 100));
	return bpf_redirect(1, 0);
}

char _license[] SEC("license") = "GPL";
