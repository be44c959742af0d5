//@ include head.h
//@ if component
//@ if has_map

struct {
	__uint(type, BPF_MAP_TYPE_${helper_map});
//@ if helper_map == RINGBUF
	__uint(max_entries, 1 << 20);
//@ else
	__uint(max_entries, ${helper_entries});
	__uint(key_size, ${helper_key});
	__uint(value_size, ${helper_value});
//@ if helper_map == LPM_TRIE
	__uint(map_flags, BPF_F_NO_PREALLOC);
//@ end
//@ end
} table SEC(".maps");
//@ end

//@ if helper == map_insert
static long (*const update)(void *map, const void *key, const void *value, __u64 flags) =
	(void *)BPF_FUNC_map_update_elem;
//@ end
//@ if helper == map_update_elem
static long (*const update)(void *map, const void *key, const void *value, __u64 flags) =
	(void *)BPF_FUNC_map_update_elem;
//@ end
//@ if helper == map_insert_delete
static long (*const update)(void *map, const void *key, const void *value, __u64 flags) =
	(void *)BPF_FUNC_map_update_elem;
static long (*const delete)(void *map, const void *key) = (void *)BPF_FUNC_map_delete_elem;
//@ end
//@ if helper == map_delete_elem
static long (*const delete)(void *map, const void *key) = (void *)BPF_FUNC_map_delete_elem;
//@ end
//@ if helper == xdp_adjust_meta
static long (*const adjust)(struct xdp_md *ctx, int delta) = (void *)BPF_FUNC_xdp_adjust_meta;
//@ end
//@ if helper_tail
static long (*const adjust)(struct xdp_md *ctx, int delta) = (void *)BPF_FUNC_xdp_adjust_tail;
//@ end
//@ if helper == redirect
static long (*const redirect)(__u32 device, __u64 flags) = (void *)BPF_FUNC_redirect;
//@ end
//@ if helper == redirect_map
static long (*const redirect)(void *map, __u64 key, __u64 flags) =
	(void *)BPF_FUNC_redirect_map;
//@ end
//@ if helper == perf_event_output
static long (*const output)(void *ctx, void *map, __u64 flags, void *data, __u64 size) =
	(void *)BPF_FUNC_perf_event_output;
//@ end
//@ if helper == ringbuf_output
static long (*const output)(void *map, void *data, __u64 size, __u64 flags) =
	(void *)BPF_FUNC_ringbuf_output;
//@ end
//@ if helper == ringbuf_submit
static void *(*const reserve)(void *map, __u64 size, __u64 flags) =
	(void *)BPF_FUNC_ringbuf_reserve;
static void (*const submit)(void *record, __u64 flags) = (void *)BPF_FUNC_ringbuf_submit;
//@ end
//@ if helper == ringbuf_discard
static void *(*const reserve)(void *map, __u64 size, __u64 flags) =
	(void *)BPF_FUNC_ringbuf_reserve;
static void (*const discard)(void *record, __u64 flags) = (void *)BPF_FUNC_ringbuf_discard;
//@ end
//@ if helper == tail_call
static long (*const tail_call)(void *ctx, void *programs, __u32 at) = (void *)BPF_FUNC_tail_call;
//@ end
//@ if helper == trace_printk
static long (*const print)(const char *format, __u32 size, ...) = (void *)BPF_FUNC_trace_printk;
//@ end
//@ if helper == trace_vprintk
static long (*const print)(const char *format, __u32 size, const void *numbers, __u32 bytes) =
	(void *)BPF_FUNC_trace_vprintk;
//@ end
//@ if helper == fib_lookup
static long (*const fib)(void *ctx, struct bpf_fib_lookup *asked, int size, __u32 flags) =
	(void *)BPF_FUNC_fib_lookup;
//@ end
//@ if helper_plain
static __u64 (*const call)(void) = (void *)BPF_FUNC_${helper};
//@ end
//@ end

SEC("xdp")
int program(struct xdp_md *ctx)
{
	__u64 sum = 0;
//@ include start.h
	struct {
		__u32 zero;
		__u32 bits;
		__u32 key;
	} asked = { 0, 32, *(volatile __u32 *)(data + ${payload}) };
	void *key = ${helper_key_at};
//@ if helper_record

	__u64 record[${record_words}] = {};

	asm volatile("" : : "r"(record) : "memory");
//@ end

	asm volatile("" : : "r"(&asked) : "memory");
	forget(sum);
//@ if component
//@ if helper == fib_lookup
	struct bpf_fib_lookup route = { .family = 2, .ifindex = ctx->ingress_ifindex };
//@ end
//@ if helper == trace_vprintk
	__u64 printed[${arguments}] = {};

	asm volatile("" : : "r"(printed) : "memory");
//@ end
//@ repeat calls as i
//@ if helper == map_insert
	asked.key += 1;
	if (update(&table, key, &sum, BPF_NOEXIST))
		return XDP_ABORTED;
//@ end
//@ if helper == map_update_elem
	if (update(&table, key, &sum, BPF_ANY))
		return XDP_ABORTED;
//@ end
//@ if helper == map_insert_delete
	if (update(&table, key, &sum, BPF_NOEXIST))
		return XDP_ABORTED;
	if (delete(&table, key))
		return XDP_ABORTED;
//@ end
//@ if helper == map_delete_elem
	if (!delete(&table, key))
		return XDP_ABORTED;
//@ end
//@ if helper == xdp_adjust_meta
	if (adjust(ctx, -4))
		return XDP_ABORTED;
	if (adjust(ctx, 4))
		return XDP_ABORTED;
//@ end
//@ if helper == xdp_shrink_tail
	if (adjust(ctx, -4))
		return XDP_ABORTED;
//@ end
//@ if helper == xdp_grow_tail
	if (adjust(ctx, 4))
		return XDP_ABORTED;
//@ end
//@ if helper == redirect
	sum += redirect(1, 0);
//@ end
//@ if helper == redirect_map
	sum += redirect(&table, 0, XDP_PASS);
//@ end
//@ if helper == perf_event_output
	if (output(ctx, &table, BPF_F_CURRENT_CPU, record, sizeof(record)))
		return XDP_ABORTED;
//@ end
//@ if helper == ringbuf_output
	if (output(&table, record, sizeof(record), 0))
		return XDP_ABORTED;
//@ end
//@ if helper == ringbuf_submit
	void *record${i} = reserve(&table, 16, 0);
	if (!record${i})
		return XDP_ABORTED;
	submit(record${i}, 0);
//@ end
//@ if helper == ringbuf_discard
	void *record${i} = reserve(&table, 16, 0);
	if (!record${i})
		return XDP_ABORTED;
	discard(record${i}, 0);
//@ end
//@ if helper == tail_call
	tail_call(ctx, &table, 0);
//@ end
//@ if helper == trace_printk
	static const char text${i}[] = "${text}${numbers}\n";

//@ if arguments == 0
	print(text${i}, sizeof(text${i}));
//@ end
//@ if arguments == 1
	print(text${i}, sizeof(text${i}), ${i});
//@ end
//@ if arguments == 2
	print(text${i}, sizeof(text${i}), ${i}, ctx->ingress_ifindex);
//@ end
//@ if arguments == 3
	print(text${i}, sizeof(text${i}), ${i}, ctx->ingress_ifindex, ctx->rx_queue_index);
//@ end
//@ end
//@ if helper == trace_vprintk
	static const char text${i}[] = "${text}${numbers}\n";

	print(text${i}, sizeof(text${i}), printed, sizeof(printed));
//@ end
//@ if helper == fib_lookup
	sum += fib(ctx, &route, sizeof(route), 0);
//@ end
//@ if helper == map_lookup_elem
	if (lookup(&table, key))
		sum++;
//@ end
//@ if helper_plain
	sum += call();
//@ end
//@ end
//@ end
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
