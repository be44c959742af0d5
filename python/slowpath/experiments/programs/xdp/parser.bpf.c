//@ include head.h

#define TYPE ${type}

SEC("xdp")
int program(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__u64 sum = 0;

	if (data + ${payload} > end)
		return XDP_ABORTED;
//@ if component
//@ repeat headers as h
	{
		volatile __u16 *field = data + ${payload} + ${h} * ${header_bytes};
		__u64 type;

		if ((void *)field + ${header_bytes} > end)
			return XDP_ABORTED;
		type = field[0];
//@ repeat branches as b
		if (type == 1 + ${b})
			return XDP_DROP;
		forget(type);
//@ end
		if (type != TYPE)
			return XDP_ABORTED;
//@ repeat fields as f
		sum += field[1 + ${f}];
//@ end
	}
//@ end
//@ end
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
