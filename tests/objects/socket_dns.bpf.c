/* A socket filter with the packet loads of classic BPF: it keeps DNS queries of IPv4, with up to 256
 * bytes. Compiled like the objects of crates/kernel/tests/objects. */
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

unsigned long long load_byte(void *skb, unsigned long long at) asm("llvm.bpf.load.byte");
unsigned long long load_half(void *skb, unsigned long long at) asm("llvm.bpf.load.half");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u64);
} labels SEC(".maps");

SEC("socket")
int dns(struct __sk_buff *skb)
{
	__u32 header, label;
	__u64 *count;

	if (skb->protocol != bpf_htons(0x0800) || load_byte(skb, 9) != 17)
		return 0;
	header = (load_byte(skb, 0) & 15) * 4;
	if (load_half(skb, header + 2) != 53 || load_half(skb, header + 10) >> 15)
		return 0;
	label = load_byte(skb, header + 20);
	count = bpf_map_lookup_elem(&labels, &label);
	if (count)
		__sync_fetch_and_add(count, 1);
	return skb->len < 256 ? skb->len : 256;
}

char _license[] SEC("license") = "GPL";
