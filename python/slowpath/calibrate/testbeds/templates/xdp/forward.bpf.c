//@ include head.h

SEC("xdp")
int program(struct xdp_md *ctx)
{
//@ include start.h
//@ if component
	volatile __u16 *mac = data;
	__u16 word;

//@ repeat 3 as i
	word = mac[${i}];
	mac[${i}] = mac[3 + ${i}];
	mac[3 + ${i}] = word;
//@ end
//@ end
	return XDP_TX;
}
//@ include foot.h
