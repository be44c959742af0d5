//@ include head.h

#define TYPE ${type}

SEC("xdp")
int program(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	__u64 sum = 0, type;

	if (data + ${payload} > end)
		return XDP_ABORTED;
	volatile __u16 *field = data + ${payload};

	forget(sum);
//@ if component
//@ repeat headers as h
	forget(field);
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
	forget(sum);
//@ end
	field = (void *)field + ${header_bytes};
//@ end
	forget(field);
//@ end
	keep(field);
	keep(sum);
	return XDP_PASS;
}
//@ include foot.h
