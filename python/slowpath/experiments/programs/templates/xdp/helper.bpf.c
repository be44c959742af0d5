//@ include head.h
//@ if helper == map_update_elem
//@ if component

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u64);
} table SEC(".maps");

static long (*const update)(void *map, const void *key, const void *value, __u64 flags) =
	(void *)BPF_FUNC_map_update_elem;
//@ end
//@ else

static __u64 (*const call)(void) = (void *)BPF_FUNC_${helper};
//@ end

SEC("xdp")
int program(struct xdp_md *ctx)
{
	__u64 sum = 0;
//@ include start.h
	__u32 key = *(volatile __u32 *)(data + ${payload});

	asm volatile("" : : "r"(&key) : "memory");
	forget(sum);
//@ if component
//@ repeat calls as i
//@ if helper == map_update_elem
	if (update(&table, &key, &sum, BPF_EXIST))
		return XDP_ABORTED;
//@ else
	sum += call();
//@ end
//@ end
//@ end
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
