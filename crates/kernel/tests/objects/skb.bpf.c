// Programs for traffic control: fields of struct __sk_buff, and calls that change the packet. Each
// of the packet's first words selects one call. Results go to the map `out`. Compiled like
// helpers.bpf.c, with clang 16.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define xdp_md __sk_buff
#include "words.h"

#define FIELD(n, name) put(n, skb->name)

/* Reads fields of all widths. */
SEC("tc") int read_fields(struct __sk_buff *skb)
{
	FIELD(0, len);
	FIELD(1, pkt_type);
	FIELD(2, mark);
	FIELD(3, queue_mapping);
	FIELD(4, protocol);
	FIELD(5, vlan_present);
	FIELD(6, priority);
	FIELD(7, ingress_ifindex);
	FIELD(8, ifindex);
	FIELD(9, tc_index);
	FIELD(10, cb[1]);
	FIELD(11, hash);
	FIELD(12, tc_classid);
	FIELD(13, tstamp);
	FIELD(14, wire_len);
	put(15, skb->gso_segs ^ (__u64)skb->gso_size << 32);
	return 0;
}

SEC("tc") int read_more_fields(struct __sk_buff *skb)
{
	FIELD(0, vlan_tci);
	FIELD(1, vlan_proto);
	FIELD(2, napi_id);
	FIELD(3, hwtstamp);
	put(4, (long)skb->data_end - (long)skb->data);
	put(5, (long)skb->data - (long)skb->data_meta);
	return skb->mark;
}

#define PART(n, type, name, at) put(n, *(volatile type *)((char *)&skb->name + (at)))

/* Loads of parts of fields. */
SEC("tc") int read_parts(struct __sk_buff *skb)
{
	PART(0, __u8, len, 0);
	PART(1, __u8, len, 1);
	PART(2, __u16, len, 2);
	PART(3, __u16, mark, 0);
	PART(4, __u16, mark, 2);
	PART(5, __u8, mark, 3);
	PART(6, __u16, protocol, 0);
	PART(7, __u8, protocol, 1);
	PART(8, __u8, cb[3], 2);
	PART(9, __u64, cb[2], 0);
	PART(10, __u16, cb[4], 2);
	PART(11, __u8, ifindex, 0);
	PART(12, __u8, pkt_type, 0);
	PART(13, __u16, priority, 2);
	PART(14, __u8, wire_len, 0);
	PART(15, __u8, gso_segs, 1);
	return -1;
}

/* Writes numbers to all fields that take some, and reads them back. */
SEC("tc") int write_fields(struct __sk_buff *skb)
{
	struct input in;

	if (arguments(skb, &in))
		return 2;
	skb->mark = in.w[0];
	skb->priority = in.w[1];
	skb->tc_index = in.w[2];
	skb->tc_classid = in.w[3];
	asm volatile("*(u32 *)(%0 + 12) = %1" ::"r"(skb), "r"(in.w[4]) : "memory");
	skb->tstamp = in.w[5];
	skb->cb[0] = in.w[6];
	*(volatile __u8 *)((char *)&skb->cb[1] + 1) = in.w[7];
	*(volatile __u16 *)((char *)&skb->cb[1] + 2) = in.w[7] >> 8;
	*(volatile __u64 *)&skb->cb[2] = in.w[0] ^ in.w[7];
	FIELD(0, mark);
	FIELD(1, priority);
	FIELD(2, tc_index);
	FIELD(3, tc_classid);
	FIELD(4, queue_mapping);
	FIELD(5, tstamp);
	FIELD(6, cb[0]);
	FIELD(7, cb[1]);
	FIELD(8, cb[2]);
	FIELD(9, cb[3]);
	FIELD(10, cb[4]);
	return in.w[6];
}

/* Constants in the field of the queue. */
SEC("tc") int constant_queues(struct __sk_buff *skb)
{
	skb->queue_mapping = 7;
	FIELD(0, queue_mapping);
	skb->queue_mapping = 0xffff;
	FIELD(1, queue_mapping);
	skb->queue_mapping = 0x10003;
	FIELD(2, queue_mapping);
	skb->queue_mapping = -5;
	FIELD(3, queue_mapping);
	skb->queue_mapping = 0xfffe;
	FIELD(4, queue_mapping);
	return 7;
}

/* Bytes after the 64 bytes that all packets of these tests have. */
static __always_inline __u64 peek(struct __sk_buff *skb, __u64 at)
{
	void *data = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;

	data += at & 127;
	return data + 8 <= end ? *(__u64 *)data : 77;
}

static __always_inline void call(struct __sk_buff *skb, __u64 word, int n)
{
	__s32 far = (__s16)(word >> 16);
	__u64 value = word;
	__u32 offset = word >> 24 & 127;
	long result = -1;

	switch (word & 31) {
	case 0:
	case 1:
		result = bpf_skb_load_bytes(skb, far, &value, 8);
		break;
	case 2:
		result = bpf_skb_load_bytes(skb, offset, &value, 5);
		break;
	case 3:
		result = bpf_skb_store_bytes(skb, far, &value, 8, word >> 5 & 3);
		break;
	case 4:
	case 5:
		result = bpf_skb_store_bytes(skb, offset, &value, 6, word >> 5 & 7);
		break;
	case 6:
		result = bpf_skb_pull_data(skb, far);
		break;
	case 7:
		result = bpf_skb_pull_data(skb, 0);
		break;
	case 8:
		result = bpf_l3_csum_replace(skb, offset, word >> 40, word >> 48, word >> 5 & 7);
		break;
	case 9:
		result = bpf_l4_csum_replace(skb, offset, word >> 40, word >> 48, word >> 5 & 127);
		break;
	case 10:
		result = bpf_skb_change_head(skb, 14, word >> 12 & 1);
		break;
	case 12:
	case 13:
		result = bpf_skb_change_tail(skb, far, 0);
		break;
	case 14:
		result = bpf_skb_change_tail(skb, skb->len + (far & 63), word >> 12 & 1);
		break;
	case 15:
		result = bpf_skb_change_type(skb, word >> 16 & 7);
		break;
	case 16:
		result = bpf_set_hash(skb, word >> 16);
		break;
	case 17:
		result = bpf_get_hash_recalc(skb);
		break;
	case 18:
		bpf_set_hash_invalid(skb);
		break;
	case 19:
	case 20:
		result = bpf_skb_vlan_push(skb, word >> 5 & 1 ? 0x0081 : word >> 48, word >> 16);
		break;
	case 21:
	case 22:
		result = bpf_skb_vlan_pop(skb);
		break;
	case 23:
		result = bpf_skb_adjust_room(skb, 20, word >> 5 & 3, word >> 7 & 3);
		break;
	case 25:
		result = bpf_skb_change_proto(skb, word >> 5 & 1 ? 0xdd86 : 0x0008, 0);
		break;
	case 26:
		result = bpf_skb_load_bytes_relative(skb, offset, &value, 8, word >> 5 & 3);
		break;
	case 27:
		result = bpf_skb_ecn_set_ce(skb);
		break;
	case 28:
		result = bpf_redirect(1, word >> 5 & 7);
		break;
	case 29:
		result = bpf_redirect_peer(1, word >> 5 & 1) ^ bpf_redirect_neigh(1, 0, 0, word >> 6 & 1)
			 << 8;
		break;
	case 30:
		result = bpf_csum_level(skb, word >> 5 & 3);
		break;
	default:
		result = bpf_skb_set_tstamp(skb, word, word >> 5 & 3);
	}
	put(3 * n, result);
	put(3 * n + 1, value ^ peek(skb, word >> 32));
	put(3 * n + 2, skb->len ^ (__u64)((long)skb->data_end - (long)skb->data) << 16 ^
			       (__u64)skb->protocol << 32 ^ (__u64)skb->vlan_tci << 48);
}

SEC("tc") int five_calls(struct __sk_buff *skb)
{
	struct input in;

	if (arguments(skb, &in))
		return 2;
	call(skb, in.w[0], 0);
	call(skb, in.w[1], 1);
	call(skb, in.w[2], 2);
	call(skb, in.w[3], 3);
	call(skb, in.w[4], 4);
	put(15, (__u64)skb->pkt_type ^ (__u64)skb->hash << 8 ^ (__u64)skb->vlan_present << 48);
	return 3;
}

#define STATE(n) put(n, skb->len ^ (__u64)((long)skb->data_end - (long)skb->data) << 32)

/* Constant differences, one after the other. Bit 9 is not a flag of adjust_room. */
SEC("tc") int rooms(struct __sk_buff *skb)
{
	struct input in;

	if (arguments(skb, &in))
		return 2;
	if (in.w[0] & 1)
		put(0, bpf_skb_adjust_room(skb, 20, in.w[2] & 3, in.w[3] & 7 | (in.w[0] & 32) << 4));
	STATE(1);
	if (in.w[0] & 2)
		put(2, bpf_skb_adjust_room(skb, -20, in.w[2] >> 2 & 1,
					   in.w[3] >> 3 & 1 | (in.w[0] & 32) << 4));
	STATE(3);
	if (in.w[0] & 4)
		put(4, bpf_skb_change_head(skb, 3, in.w[3] >> 5 & 1));
	STATE(5);
	if (in.w[0] & 8)
		put(6, bpf_skb_adjust_room(skb, 8, 1, 0));
	STATE(7);
	if (in.w[0] & 16)
		put(8, bpf_skb_adjust_room(skb, 5000, 1, (in.w[0] & 32) << 4));
	STATE(9);
	put(10, peek(skb, in.w[4]));
	return 0;
}

/* Differences that depend on the packet, some of them too large. */
SEC("tc") int variable_rooms(struct __sk_buff *skb)
{
	struct input in;

	if (arguments(skb, &in))
		return 2;
	if (in.w[0] & 1)
		put(0, bpf_skb_adjust_room(skb, (short)(in.w[0] >> 16), in.w[2] & 1, in.w[2] >> 1 & 7));
	STATE(1);
	if (in.w[0] & 2)
		put(2, bpf_skb_adjust_room(skb, -(int)(in.w[1] >> 16 & 127), in.w[2] >> 4 & 1, 0));
	STATE(3);
	if ((in.w[0] & 12) == 12)
		put(4, bpf_skb_adjust_room(skb, in.w[3] & 63, 1, 0));
	STATE(5);
	put(6, peek(skb, in.w[4]));
	return 0;
}

/* Results that depend on the environment. */
SEC("tcx/ingress") int environment(struct __sk_buff *skb)
{
	struct bpf_tunnel_key key;
	struct bpf_fib_lookup fib = { .family = 2, .ifindex = 1 };
	__u32 mtu = 0;
	__u8 options[12];

	put(0, bpf_get_cgroup_classid(skb));
	put(1, bpf_get_route_realm(skb));
	put(2, bpf_skb_cgroup_id(skb));
	put(3, bpf_skb_ancestor_cgroup_id(skb, 1));
	put(4, bpf_get_socket_cookie(skb));
	put(5, bpf_get_socket_uid(skb));
	put(6, bpf_skb_get_tunnel_key(skb, &key, sizeof(key), 0));
	put(7, key.tunnel_id);
	put(8, bpf_skb_get_tunnel_opt(skb, options, sizeof(options)));
	put(9, bpf_csum_update(skb, 1));
	put(10, bpf_skb_cgroup_classid(skb));
	put(11, bpf_fib_lookup(skb, &fib, sizeof(fib), 0));
	put(12, fib.ifindex);
	put(13, bpf_check_mtu(skb, 0, &mtu, 0, 0));
	put(14, mtu);
	put(15, bpf_skb_set_tunnel_key(skb, &key, sizeof(key), 0));
	return 0;
}

SEC("tcx/egress") int cloned(struct __sk_buff *skb)
{
	put(0, bpf_clone_redirect(skb, 1, 4));
	put(1, bpf_skb_set_tunnel_opt(skb, &(__u32){ 0 }, 4));
	put(2, bpf_get_hash_recalc(skb) == skb->hash);
	return 2;
}

/* Sizes that depend on the packet. */
SEC("tc") int sized(struct __sk_buff *skb)
{
	__u8 buffer[24] = { 9 };
	struct input in;

	if (arguments(skb, &in))
		return 2;
	put(0, bpf_skb_load_bytes(skb, in.w[0] >> 16 & 127, buffer, (in.w[0] & 15) + 1));
	put(1, *(__u64 *)buffer);
	put(2, *(__u64 *)(buffer + 8) ^ *(__u64 *)(buffer + 16));
	buffer[3] ^= 0x55;
	put(3, bpf_skb_store_bytes(skb, in.w[1] >> 16 & 127, buffer, (in.w[1] & 15) + 1, 0));
	put(4, peek(skb, in.w[2]));
	return 0;
}

struct large {
	__u8 b[1600];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct large);
} large SEC(".maps");

/* The buffer is so large that the loaded bytes are unknown, so the program replaces them by zeros. */
SEC("tc") int sized_large(struct __sk_buff *skb)
{
	__u32 zero = 0, one = 1;
	struct large *bytes, *zeros;
	struct input in;

	if (arguments(skb, &in))
		return 2;
	bytes = bpf_map_lookup_elem(&large, &zero);
	zeros = bpf_map_lookup_elem(&large, &one);
	if (!bytes || !zeros)
		return 2;
	put(0, bpf_skb_load_bytes(skb, in.w[0] & 127, bytes->b, (in.w[1] & 127) + 1));
	put(1, bytes->b[(in.w[1] & 127) + 1]);
	bpf_map_update_elem(&large, &zero, zeros, 0);
	return 0;
}

/* Sizes that depend on the packet, for buffers on the stack or in a map. The bytes are unknown. */
SEC("tc") int sized_anywhere(struct __sk_buff *skb)
{
	__u32 zero = 0, one = 1;
	struct large *bytes, *zeros;
	__u8 stack[40] = { 9 }, *buffer;
	struct input in;

	if (arguments(skb, &in))
		return 2;
	bytes = bpf_map_lookup_elem(&large, &zero);
	zeros = bpf_map_lookup_elem(&large, &one);
	if (!bytes || !zeros)
		return 2;
	buffer = in.w[0] & 1 ? stack : bytes->b;
	asm volatile("" : "+r"(buffer));
	put(0, bpf_skb_load_bytes(skb, in.w[1] >> 16 & 127, buffer, (in.w[1] & 24) + 8));
	asm volatile("" : "+r"(buffer));
	put(1, stack[39] + bytes->b[32]);
	put(2, bpf_skb_store_bytes(skb, in.w[2] >> 16 & 127, buffer, (in.w[2] & 24) + 8, in.w[3] & 3));
	STATE(3);
	bpf_map_update_elem(&large, &zero, zeros, 0);
	return 0;
}

SEC("tc") int assigned(struct __sk_buff *skb)
{
	struct bpf_sock_tuple tuple = { .ipv4 = { .dport = 0x3500 } };
	struct bpf_sock *socket = bpf_sk_lookup_udp(skb, &tuple, sizeof(tuple.ipv4), -1, 0);

	if (!socket)
		return 1;
	put(0, bpf_sk_assign(skb, socket, skb->mark));
	bpf_sk_release(socket);
	return 0;
}

char _license[] SEC("license") = "GPL";
