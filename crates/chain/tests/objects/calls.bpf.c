/* Pairs of programs that call helpers with effects outside of packet and maps. For packets of at
 * least 100 bytes, same_NAME_* do the same as NAME, and differs_NAME_* do not. For open_NAME_*, this is
 * not decided; never_NAME_* are not proved. Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c calls.bpf.c -o calls.bpf.o
 *   llvm-strip -g calls.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} events SEC(".maps");

struct recent {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct recent);
} by_cpu SEC(".maps");

#define SAMPLE(bytes) (BPF_F_CURRENT_CPU | (__u64)(bytes) << 32)
#define VALUE ((__u64)data[60] << 8 | data[61])
#define SAME_VALUE ((__u64)data[61] + 256 * (__u64)data[60])
#define OTHER_VALUE ((__u64)data[61] + 256 * (__u64)data[62])

/* A program. Originals have an additional branch that packets of 100 bytes never take. */
#define PROGRAM(name, ...)                                                                         \
	SEC("xdp") int name(struct xdp_md *ctx)                                                    \
	{                                                                                          \
		__u8 *data = (__u8 *)(long)ctx->data;                                              \
		__u8 *end = (__u8 *)(long)ctx->data_end;                                           \
		if (data + 100 > end)                                                              \
			return XDP_DROP;                                                           \
		__VA_ARGS__;                                                                       \
		return XDP_PASS;                                                                   \
	}
#define ORIGINAL(name, ...)                                                                        \
	PROGRAM(name, if (data + 90 > end) return XDP_TX; __VA_ARGS__)

/* The format is constant data. */

#define PRINT(format, ...)                                                                         \
	static const char text[] = format;                                                         \
	bpf_trace_printk(text, sizeof(text), ##__VA_ARGS__);

ORIGINAL(number, PRINT("%d %lx", data[70], VALUE))
PROGRAM(same_number, PRINT("%d %lx", data[70], SAME_VALUE))
PROGRAM(differs_number_value, PRINT("%d %lx", data[70], OTHER_VALUE))
PROGRAM(differs_number_format, PRINT("%d %lu", data[70], VALUE))
PROGRAM(differs_number_not, if (data[70] == 7) return XDP_PASS; PRINT("%d %lx", data[70], VALUE))

/* Data that arguments point to is compared as well. */

static const char up[] = "up";
static const char down[] = "down";

ORIGINAL(text, PRINT("%s %d", up, VALUE))
PROGRAM(same_text, PRINT("%s %d", up, SAME_VALUE))
PROGRAM(differs_text, PRINT("%s %d", down, VALUE))

ORIGINAL(address, __u32 from = VALUE; PRINT("%pI4 %d", &from, data[70]))
PROGRAM(same_address, __u32 from[4] = {0, 0, 0, SAME_VALUE}; PRINT("%pI4 %d", &from[3], data[70]))
PROGRAM(differs_address, __u32 from = OTHER_VALUE; PRINT("%pI4 %d", &from, data[70]))

/* The text is on the stack, at an address that may differ between the programs. */
ORIGINAL(stack_text, char name[8] = {}; name[0] = data[60]; PRINT("%s", name))
PROGRAM(open_stack_text, char name[8] = {}; name[0] = data[60]; PRINT("%s", name))

/* The format is on the stack. */

#define PRINT_LOCAL(format, ...)                                                                   \
	char text[] = format;                                                                      \
	asm volatile("" : : "r"(text) : "memory");                                                 \
	bpf_trace_printk(text, sizeof(text), ##__VA_ARGS__);

ORIGINAL(local, PRINT_LOCAL("100%% of %d: %lx", data[70], VALUE))
PROGRAM(same_local, PRINT_LOCAL("100%% of %d: %lx", data[70], SAME_VALUE))
PROGRAM(same_local_more, PRINT_LOCAL("100%% of %d: %lx", data[70], VALUE, data[71]))
PROGRAM(differs_local_value, PRINT_LOCAL("100%% of %d: %lx", data[70], OTHER_VALUE))
PROGRAM(differs_local_format, PRINT_LOCAL("100%% of %d: %lu", data[70], VALUE))
ORIGINAL(local_text, PRINT_LOCAL("%-8s", up))
PROGRAM(open_local_text, PRINT_LOCAL("%-8s", up))

/* Arguments are in an array. */

#define PRINT_ARRAY(format, ...)                                                                   \
	static const char text[] = format;                                                         \
	__u64 all[] = {__VA_ARGS__};                                                               \
	bpf_trace_vprintk(text, sizeof(text), all, sizeof(all));

ORIGINAL(array, PRINT_ARRAY("%d %d %d %d", data[70], data[71], VALUE, 7))
PROGRAM(same_array, PRINT_ARRAY("%d %d %d %d", data[70], data[71], SAME_VALUE, 7))
PROGRAM(differs_array, PRINT_ARRAY("%d %d %d %d", data[70], data[71], OTHER_VALUE, 7))
ORIGINAL(array_text, PRINT_ARRAY("%s %d %d %d", (long)up, data[71], VALUE, 7))
PROGRAM(open_array_text, PRINT_ARRAY("%s %d %d %d", (long)up, data[71], SAME_VALUE, 7))

/* Copied packet bytes are compared only if the packet is as it was received. */

#define COPY(bytes)                                                                                \
	__u64 event = VALUE;                                                                       \
	bpf_perf_event_output(ctx, &events, SAMPLE(bytes), &event, sizeof(event));

ORIGINAL(copies, COPY(64))
PROGRAM(same_copies, COPY(64))
PROGRAM(open_copies_less, COPY(63))
ORIGINAL(copies_written, data[5] = 1; COPY(64))
PROGRAM(open_copies_written, data[5] = 1; COPY(64))
PROGRAM(open_copies_written_late, COPY(64); data[5] = 1)
ORIGINAL(copies_moved, if (bpf_xdp_adjust_head(ctx, 8)) return XDP_ABORTED;
	 __u64 event = 5; bpf_perf_event_output(ctx, &events, SAMPLE(64), &event, sizeof(event)))
PROGRAM(open_copies_moved, __u64 event = 5;
	bpf_perf_event_output(ctx, &events, SAMPLE(64), &event, sizeof(event));
	if (bpf_xdp_adjust_head(ctx, 8)) return XDP_ABORTED)

/* The programs read an element of an inner map after an update that may have overwritten it. */

#define OF_CPU(cpu)                                                                                \
	__u32 index = cpu;                                                                         \
	void *map = bpf_map_lookup_elem(&by_cpu, &index);                                          \
	if (!map)                                                                                  \
		return XDP_DROP;

#define UPDATED(key1, key2, new)                                                                   \
	OF_CPU(0)                                                                                  \
	__u32 old_key = key1;                                                                      \
	__u32 new_key = key2;                                                                      \
	__u64 value = new;                                                                         \
	__u64 *old = bpf_map_lookup_elem(map, &old_key);                                           \
	if (!old)                                                                                  \
		return XDP_DROP;                                                                   \
	bpf_map_update_elem(map, &new_key, &value, BPF_ANY);

ORIGINAL(updates, UPDATED(data[60], data[61], VALUE) if (*old == 5) return XDP_TX;)
PROGRAM(same_updates, UPDATED(data[60], data[61], SAME_VALUE) if (*old == 5) return XDP_TX;)
PROGRAM(never_updates_value, UPDATED(data[60], data[61], OTHER_VALUE) if (*old == 5) return XDP_TX;)
PROGRAM(never_updates_read, UPDATED(data[60], data[61], VALUE) if (*old == 6) return XDP_TX;)
/* The value before the update differs from the value after it. No counterexample is searched for:
 * some elements that the update may overwrite in the model cannot be overwritten in a real run. */
PROGRAM(never_updates_read_before, OF_CPU(0) __u32 old_key = data[60]; __u32 new_key = data[61];
	__u64 value = VALUE; __u64 *old = bpf_map_lookup_elem(map, &old_key);
	if (!old) return XDP_DROP;
	__u64 before = *(volatile __u64 *)old;
	bpf_map_update_elem(map, &new_key, &value, BPF_ANY);
	if (before == 5) return XDP_TX;)

char LICENSE[] SEC("license") = "GPL";
