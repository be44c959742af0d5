/* First program of a chain. It passes IPv6, sends back packets with a zero in byte 20, and drops all
 * other packets. It sets the element of its array. Compiled with
 *   clang -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c chain_first.bpf.c -o chain_first.bpf.o
 *   llvm-strip -g chain_first.bpf.o
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

SEC("xdp")
int first(struct xdp_md *ctx)
{
	unsigned char *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__u32 key = 0;
	__u64 *value;

	if (data + 34 > (unsigned char *)end)
		return XDP_DROP;
	if (data[12] != 0x86 || data[13] != 0xdd)
		return XDP_DROP;
	value = bpf_map_lookup_elem(&seen, &key);
	if (!value)
		return XDP_ABORTED;
	*value = 1;
	return data[20] ? XDP_PASS : XDP_TX;
}

char _license[] SEC("license") = "GPL";
