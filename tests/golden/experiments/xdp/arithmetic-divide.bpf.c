/* Instructions of the class divide, each depending on the previous one
 * Made for the experiment arithmetic-divide; count = 5.
 */
#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name
#define __array(name, value) typeof(value) *name[]
#define __inline inline __attribute__((always_inline))
#define keep(value) asm volatile("" : : "r"(value))	/* it has to be computed */
#define forget(value) asm volatile("" : "+r"(value))	/* it may be anything */

static void *(*const lookup)(void *map, const void *key) = (void *)BPF_FUNC_map_lookup_elem;

SEC("xdp")
int program(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;

	if (data + 64 > end)
		return XDP_ABORTED;
	__u64 operand = *(volatile __u32 *)data | 3;
	__u64 value0 = operand + 0;
	__u64 value1 = operand + 1;
	__u64 value2 = operand + 2;
	__u64 value3 = operand + 3;

	forget(value0);
	forget(value1);
	forget(value2);
	forget(value3);
	asm volatile("%0 /= %1" : "+r"(value0) : "r"(operand));
	asm volatile("%0 /= %1" : "+r"(value0) : "r"(operand));
	asm volatile("%0 /= %1" : "+r"(value0) : "r"(operand));
	asm volatile("%0 /= %1" : "+r"(value0) : "r"(operand));
	asm volatile("%0 /= %1" : "+r"(value0) : "r"(operand));
	keep(value0);
	keep(value1);
	keep(value2);
	keep(value3);
	keep(operand);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
