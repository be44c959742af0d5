//@ include head.h

SEC("xdp")
int program(struct xdp_md *ctx)
{
//@ include start.h
//@ if where == header
	volatile __u16 *field = data + ${payload};
//@ else
	volatile __u16 field[${writes}];
//@ end
	__u16 value = *(volatile __u16 *)data;

	keep(field);
//@ if component
//@ repeat writes as i
	field[${i}] = value;
//@ end
//@ end
	keep(value);
	return XDP_PASS;
}
//@ include foot.h
