/* What sources in the wild have besides: a map by `struct bpf_map_def`, types that are moved when a
 * program is loaded, barriers for the compiler, texts that are printed, a map that is chosen. */
#include <linux/types.h>
#include <linux/if_ether.h>

#define SEC(name) __attribute__((section(name), used))
#define MOVED __attribute__((preserve_access_index))

struct xdp_md {
	__u32 data;
	__u32 data_end;
	__u32 data_meta;
} MOVED;

struct bpf_map_def {
	unsigned int type, key_size, value_size, max_entries, map_flags;
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value,
				   __u64 flags) = (void *)2;
static long (*bpf_trace_printk)(const char *text, __u32 size, ...) = (void *)6;

struct bpf_map_def SEC("maps") even = { 1, 4, 8, 128, 0 };
struct bpf_map_def SEC("maps") odd = { 9, 4, 8, 128, 0 };

static __attribute__((noinline)) __u64 *counter(__u32 key)
{
	void *map = key & 1 ? &odd : &even;
	__u64 *found = bpf_map_lookup_elem(map, &key), one = 0;

	if (found)
		return found;
	bpf_map_update_elem(map, &key, &one, 0);
	return bpf_map_lookup_elem(map, &key);
}

SEC("xdp")
int styles(struct xdp_md *ctx)
{
	static const char text[] = "%d\n";
	void *end = (void *)(long)ctx->data_end;
	__u8 *data = (void *)(long)ctx->data;
	__u64 *count;
	__u32 key;

	if (data + 15 > (__u8 *)end)
		return 1;
	key = data[14];
	asm volatile("" : "=r"(key) : "0"(key));
	asm volatile("" ::: "memory");
	asm volatile("" : : "r"(key));
	count = counter(key);
	if (!count)
		return 0;
	++*count;
	if (key == 7)
		bpf_trace_printk(text, sizeof(text), key);
	return 2;
}

char LICENSE[] SEC("license") = "GPL";
