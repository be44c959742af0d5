/* Programs whose slow paths need one certain value that neither the packet nor maps determine.
 * Compiled with
 *   clang-16 -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c witnesses.bpf.c -o witnesses.bpf.o
 *   llvm-strip-16 -g witnesses.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define SLOW 40
#define E2BIG 7

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} flows SEC(".maps");

static __always_inline int slow(struct xdp_md *ctx)
{
	int sum = 0;
#pragma unroll
	for (int i = 0; i < SLOW; i++)
		sum += *(volatile __u32 *)&ctx->ingress_ifindex;
	return sum;
}

SEC("xdp")
int at_a_time(struct xdp_md *ctx)
{
	__u64 first = bpf_ktime_get_ns(), second = bpf_ktime_get_ns();

	if (first != 1000000 || second != 1000123)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int without_room(struct xdp_md *ctx)
{
	__u32 key = 5;
	__u64 value = 0;

	if (bpf_map_update_elem(&flows, &key, &value, BPF_NOEXIST) != -E2BIG)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int without_neighbour(struct xdp_md *ctx)
{
	struct bpf_fib_lookup route = {.family = 2, .ifindex = ctx->ingress_ifindex};

	if (bpf_fib_lookup(ctx, &route, sizeof(route), 0) != BPF_FIB_LKUP_RET_NO_NEIGH)
		return XDP_PASS;
	if (route.ifindex != 77)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int with_an_error(struct xdp_md *ctx)
{
	__u32 mtu = 0;

	if (bpf_check_mtu(ctx, 5, &mtu, 0, 0) != -19)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int on_a_queue(struct xdp_md *ctx)
{
	if (ctx->rx_queue_index != 64 || bpf_get_smp_processor_id() != 3)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int behind_what_was_in_front(struct xdp_md *ctx)
{
	void *data, *end;

	if (bpf_xdp_adjust_head(ctx, -4))
		return XDP_PASS;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + 4 > end || *(__u32 *)data != 0x44332211)
		return XDP_PASS;
	return slow(ctx);
}

SEC("xdp")
int on_another_queue(struct xdp_md *ctx)
{
	if (ctx->rx_queue_index == 0)
		return slow(ctx);
	if (ctx->rx_queue_index == 64)
		return slow(ctx) + 1;
	return XDP_PASS;
}

char _license[] SEC("license") = "GPL";
