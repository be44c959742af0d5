// One program for each feature of loading. Compiled with the versions of examples/Makefile:
//   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
//     -idirafter /usr/include/x86_64-linux-gnu -c features.bpf.c -o features.bpf.o
//   llvm-strip -g features.bpf.o
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} per_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} table SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} recent SEC(".maps");

struct prefix {
	__u32 length;
	__u32 address;
};

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(max_entries, 8);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct prefix);
	__type(value, __u32);
} routes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 5000);
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} events SEC(".maps");

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} first SEC(".maps"), second SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 4);
	__type(key, __u32);
	__array(values, struct inner);
} nested SEC(".maps") = { .values = { [0] = &first, [2] = &second } };

int answer(struct xdp_md *ctx);
int again(struct xdp_md *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 4);
	__uint(key_size, 4);
	__array(values, int(void *));
} calls SEC(".maps") = { .values = { [1] = (void *)&answer, [2] = (void *)&again } };

struct locked {
	struct bpf_spin_lock lock;
	__u32 value;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct locked);
} guarded SEC(".maps");

const volatile __u32 constant = 3;
__u32 initialised = 40;
__u64 zeroed;

SEC("xdp")
int answer(struct xdp_md *ctx)
{
	return 4;
}

SEC("xdp")
int again(struct xdp_md *ctx)
{
	bpf_tail_call(ctx, &calls, 1);
	return 0;
}

SEC("xdp")
int tail_call(struct xdp_md *ctx)
{
	bpf_tail_call(ctx, &calls, 2);
	return 0;
}

SEC("xdp")
int globals(struct xdp_md *ctx)
{
	initialised++;
	zeroed += 2;
	return constant;
}

SEC("xdp")
int all_maps(struct xdp_md *ctx)
{
	__u32 key = 1, outer = 2, inner = 0;
	__u32 *counter = bpf_map_lookup_elem(&per_cpu, &key);
	__u64 *seen = bpf_map_lookup_elem(&table, &key);
	struct prefix prefix = { 32, 0x0100000a };
	__u32 *route = bpf_map_lookup_elem(&routes, &prefix);
	__u64 one = 1;
	void *map;

	if (counter)
		*counter += 1;
	if (seen)
		*seen += 5;
	bpf_map_update_elem(&recent, &key, &one, BPF_ANY);
	map = bpf_map_lookup_elem(&nested, &outer);
	if (map) {
		__u32 *value = bpf_map_lookup_elem(map, &inner);

		if (value)
			*value += 7;
	}
	if (route)
		return *route;
	bpf_ringbuf_output(&ring, &one, sizeof(one), 0);
	bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &one, sizeof(one));
	if (bpf_redirect_map(&cpus, 3, 1) == XDP_REDIRECT)
		return XDP_ABORTED;
	if (bpf_redirect_map(&sockets, 3, 1) == XDP_REDIRECT)
		return XDP_ABORTED;
	return bpf_redirect_map(&ports, 3, XDP_PASS);
}

SEC("xdp")
int spin_lock(struct xdp_md *ctx)
{
	__u32 key = 0;
	struct locked *locked = bpf_map_lookup_elem(&guarded, &key);

	if (!locked)
		return XDP_ABORTED;
	bpf_spin_lock(&locked->lock);
	locked->value++;
	bpf_spin_unlock(&locked->lock);
	return XDP_PASS;
}

static long step(__u32 index, void *sum)
{
	*(__u64 *)sum += index;
	return 0;
}

__attribute__((noinline)) int halve(__u64 value)
{
	return value / 2;
}

SEC("xdp")
int callback(struct xdp_md *ctx)
{
	__u64 sum = 0;

	bpf_loop(4, step, &sum, 0);
	return halve(sum);
}

SEC("xdp")
int metadata(struct xdp_md *ctx)
{
	__u32 *meta;

	if (bpf_xdp_adjust_meta(ctx, -4))
		return XDP_ABORTED;
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data)
		return XDP_ABORTED;
	*meta = ctx->ingress_ifindex;
	return XDP_PASS;
}

SEC("xdp")
int longer(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, -20) || bpf_xdp_adjust_tail(ctx, 10) ? XDP_ABORTED : XDP_TX;
}

SEC("xdp.frags")
int fragments(struct xdp_md *ctx)
{
	return bpf_xdp_get_buff_len(ctx) > 6000 ? XDP_TX : XDP_DROP;
}

struct task_struct {
	int pid;
} __attribute__((preserve_access_index));

SEC("xdp")
int core_field(struct xdp_md *ctx)
{
	return bpf_core_field_exists(struct task_struct, pid) ? XDP_PASS : XDP_DROP;
}

struct bpf_dynptr;
extern int bpf_dynptr_from_xdp(struct xdp_md *xdp, __u64 flags, struct bpf_dynptr *ptr) __ksym;

struct bpf_dynptr_space {
	__u64 words[2];
} __attribute__((aligned(8)));

SEC("xdp")
int kernel_function(struct xdp_md *ctx)
{
	struct bpf_dynptr_space space;

	return bpf_dynptr_from_xdp(ctx, 0, (void *)&space) ? XDP_ABORTED : XDP_PASS;
}

SEC("xdp")
int rejected(struct xdp_md *ctx)
{
	return *(volatile __u8 *)(long)ctx->data;
}

SEC("xdp/devmap")
int on_devmap(struct xdp_md *ctx)
{
	return ctx->egress_ifindex ? XDP_PASS : XDP_DROP;
}

SEC("tc")
int classifier(struct __sk_buff *skb)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
