/* Fields that are read of 4 headers
 * Made for the experiment parser-fields; fields = 4.
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

#define TYPE 4096

SEC("xdp")
int program(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__u64 sum = 0, type;

	if (data + 42 > end)
		return XDP_ABORTED;
	volatile __u16 *field = data + 42;

	forget(sum);
	forget(field);
	if ((void *)field + 32 > end)
		return XDP_ABORTED;
	type = field[0];
	if (type != TYPE)
		return XDP_ABORTED;
	sum += field[1 + 0];
	forget(sum);
	sum += field[1 + 1];
	forget(sum);
	sum += field[1 + 2];
	forget(sum);
	sum += field[1 + 3];
	forget(sum);
	field = (void *)field + 32;
	forget(field);
	if ((void *)field + 32 > end)
		return XDP_ABORTED;
	type = field[0];
	if (type != TYPE)
		return XDP_ABORTED;
	sum += field[1 + 0];
	forget(sum);
	sum += field[1 + 1];
	forget(sum);
	sum += field[1 + 2];
	forget(sum);
	sum += field[1 + 3];
	forget(sum);
	field = (void *)field + 32;
	forget(field);
	if ((void *)field + 32 > end)
		return XDP_ABORTED;
	type = field[0];
	if (type != TYPE)
		return XDP_ABORTED;
	sum += field[1 + 0];
	forget(sum);
	sum += field[1 + 1];
	forget(sum);
	sum += field[1 + 2];
	forget(sum);
	sum += field[1 + 3];
	forget(sum);
	field = (void *)field + 32;
	forget(field);
	if ((void *)field + 32 > end)
		return XDP_ABORTED;
	type = field[0];
	if (type != TYPE)
		return XDP_ABORTED;
	sum += field[1 + 0];
	forget(sum);
	sum += field[1 + 1];
	forget(sum);
	sum += field[1 + 2];
	forget(sum);
	sum += field[1 + 3];
	forget(sum);
	field = (void *)field + 32;
	forget(field);
	keep(field);
	keep(sum);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
