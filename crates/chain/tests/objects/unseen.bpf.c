/* Programs with runs that are not analysed, or with data that is not only in the object. Compiled
 * with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c unseen.bpf.c -o unseen.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "packet.h"

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} others SEC(".maps");

/* A loader may set this variable. */
const volatile __u32 action = XDP_DROP;
/* No loader sets this variable. */
const __u32 actions[4] = { XDP_DROP, XDP_PASS, XDP_TX, XDP_ABORTED };

/* The program in the array may shorten packets and let them pass. */
SEC("xdp")
int goes_on(struct xdp_md *ctx)
{
	PACKET(ctx, 64)
	bpf_tail_call(ctx, &others, 0);
	return XDP_PASS;
}

/* The first fragment may be shorter than the whole packet. */
SEC("xdp.frags")
int long_enough(struct xdp_md *ctx)
{
	return bpf_xdp_get_buff_len(ctx) < 1000 ? XDP_DROP : XDP_PASS;
}

/* Like `long_enough`, for packets in one piece. */
SEC("xdp")
int long_enough_whole(struct xdp_md *ctx)
{
	return bpf_xdp_get_buff_len(ctx) < 1000 ? XDP_DROP : XDP_PASS;
}

/* Calls no helper that depends on fragments. */
SEC("xdp.frags")
int first_fragment(struct xdp_md *ctx)
{
	PACKET(ctx, 64)
	return data[12] == 8 ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int set_up(struct xdp_md *ctx)
{
	PACKET(ctx, 64)
	if (data[12] != 8)
		return XDP_TX;
	return action;
}

SEC("xdp")
int constant(struct xdp_md *ctx)
{
	PACKET(ctx, 64)
	if (data[12] != 8)
		return XDP_TX;
	return actions[data[13] & 3];
}

/* The kernel has no structure with this member. */
struct task_struct {
	int none_of_its_members;
} __attribute__((preserve_access_index));

SEC("fentry/none_of_its_functions")
int elsewhere(struct task_struct *task)
{
	return task->none_of_its_members;
}

char _license[] SEC("license") = "GPL";
