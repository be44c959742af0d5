/* Loops by open-coded iterators: within each other, left early, and bounds of any kind. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#ifndef bpf_for
/* What libbpf has since version 1.2, and linux/bpf.h since Linux 6.4. */
struct turns {
	__u64 opaque[1];
} __attribute__((aligned(8)));
extern int bpf_iter_num_new(struct turns *all, int start, int end) __weak __ksym;
extern int *bpf_iter_num_next(struct turns *all) __weak __ksym;
extern void bpf_iter_num_destroy(struct turns *all) __weak __ksym;
#define bpf_for(i, start, end)                                                                     \
	for (struct turns all __attribute__((cleanup(bpf_iter_num_destroy))),                      \
	     *begun __attribute__((unused)) = (bpf_iter_num_new(&all, (start), (end)), (void *)0); \
	     ({                                                                                    \
		     int *now = bpf_iter_num_next(&all);                                           \
		     now && ((i) = *now, (i) >= (start) && (i) < (end));                           \
	     });)
#else
#define turns bpf_iter_num
#endif

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 8);
	__type(key, __u32);
	__type(value, __u64);
} rounds SEC(".maps");

SEC("xdp")
int looping(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 sum = 0, key;
	struct turns some;
	int from, to, i, j, code, *now;
	__u64 *often;

	if (data + 40 > end)
		return XDP_PASS;
	from = (signed char)data[15];
	to = (signed char)data[16];
	bpf_for(i, from, to) {
		sum = sum * 31 + i;
		if (sum % 61 == data[17] % 61)
			break;
		bpf_for(j, i, i + (data[18] & 3)) sum += j;
		key = i & 7;
		often = bpf_map_lookup_elem(&rounds, &key);
		if (often)
			++*often;
	}
	__builtin_memcpy(&from, data + 20, sizeof(from));
	__builtin_memcpy(&to, data + 24, sizeof(to));
	if (data[14] & 1)
		to = from + (data[19] & 3);
	if ((data[14] & 6) == 2)
		to = from + (1 << 23) + (data[19] & 1);
	code = bpf_iter_num_new(&some, from, to);
	data[28] = code;
	now = bpf_iter_num_next(&some);
	data[29] = now ? *now : 0xa5;
	now = bpf_iter_num_next(&some);
	data[30] = now ? *now : 0x5a;
	bpf_iter_num_destroy(&some);
	__builtin_memcpy(data + 32, &sum, sizeof(sum));
	return sum & 1 ? XDP_TX : XDP_DROP;
}

char LICENSE[] SEC("license") = "GPL";
