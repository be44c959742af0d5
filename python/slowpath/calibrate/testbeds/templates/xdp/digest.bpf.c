//@ include head.h

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} records SEC(".maps");

static long (*const output)(void *map, void *data, __u64 size, __u64 flags) =
	(void *)BPF_FUNC_ringbuf_output;

SEC("xdp")
int program(struct xdp_md *ctx)
{
	__u64 record[${words}];
//@ include start.h
	volatile __u64 *from = data + ${payload};

//@ repeat words as i
	record[${i}] = from[${i}];
//@ end
	asm volatile("" : : "r"(record) : "memory");
//@ if component
//@ repeat digests as i
	if (output(&records, record, sizeof(record), 0))
		return XDP_ABORTED;
//@ end
//@ end
	return XDP_PASS;
}
//@ include foot.h
