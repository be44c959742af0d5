//@ include head.h

SEC("xdp")
int program(struct xdp_md *ctx)
{
//@ include start.h
	__u64 operand = *(volatile __u32 *)data | 3;
//@ repeat 4 as r
	__u64 value${r} = operand + ${r};
//@ end

//@ repeat 4 as r
	forget(value${r});
//@ end
//@ if component
//@ if operation == move
//@ repeat quarters as i
	asm volatile("${instruction}" : "+r"(value1) : "r"(value0));
	asm volatile("${instruction}" : "+r"(value2) : "r"(value1));
	asm volatile("${instruction}" : "+r"(value3) : "r"(value2));
	asm volatile("${instruction}" : "+r"(value0) : "r"(value3));
//@ end
//@ repeat rest as r
	asm volatile("${instruction}" : "+r"(value1) : "r"(value0));
//@ end
//@ else
//@ if dependent
//@ repeat count as i
	asm volatile("${instruction}" : "+r"(value0) : "r"(operand));
//@ end
//@ else
//@ repeat quarters as i
//@ repeat 4 as r
	asm volatile("${instruction}" : "+r"(value${r}) : "r"(operand));
//@ end
//@ end
//@ repeat rest as r
	asm volatile("${instruction}" : "+r"(value${r}) : "r"(operand));
//@ end
//@ end
//@ end
//@ end
//@ repeat 4 as r
	keep(value${r});
//@ end
	keep(operand);
	return XDP_PASS;
}
//@ include foot.h
