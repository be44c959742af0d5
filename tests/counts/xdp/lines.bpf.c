/* Queues and stacks: what a packet brings is pushed, what comes out is written into it. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct ticket {
	__u8 bytes[10];
};

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 7);
	__type(value, struct ticket);
} waiting SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 5);
	__type(value, __u32);
} ids SEC(".maps");

SEC("xdp")
int lines(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ticket ticket = {};
	__u32 id = 1;
	long result;

	if (data + 36 > end)
		return XDP_PASS;
	switch (data[14] & 7) {
	case 0:
	case 1:
		__builtin_memcpy(&ticket, data + 16, sizeof(ticket));
		result = bpf_map_push_elem(&waiting, &ticket, data[15] & 3);
		break;
	case 2:
		result = bpf_map_pop_elem(&waiting, &ticket);
		break;
	case 3:
		result = bpf_map_peek_elem(&waiting, &ticket);
		break;
	case 4:
	case 5:
		__builtin_memcpy(&id, data + 16, sizeof(id));
		result = bpf_map_push_elem(&ids, &id, data[15] & 3);
		break;
	case 6:
		result = bpf_map_pop_elem(&ids, &id);
		break;
	default:
		result = bpf_map_peek_elem(&ids, &id);
	}
	__builtin_memcpy(data + 16, &ticket, sizeof(ticket));
	__builtin_memcpy(data + 26, &id, sizeof(id));
	data[30] = result;
	return result ? XDP_DROP : XDP_TX;
}

char LICENSE[] SEC("license") = "GPL";
