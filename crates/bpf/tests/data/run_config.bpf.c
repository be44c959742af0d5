// libxdp's settings of programs that share an interface: priorities, and actions that continue.
#include "bpf.h"

// The names are members here.
#undef XDP_DROP
#undef XDP_PASS

#define CONFIG(program) _##program SEC(".xdp_run_config")

struct {
	__uint(priority, 10);
	__uint(XDP_TX, 1);
	__uint(XDP_DROP, 1);
} CONFIG(early);

struct {
	__uint(XDP_PASS, 0);
	__uint(XDP_ABORTED, 1);
} CONFIG(never);

struct {
	__uint(priority, 0);
	__uint(XDP_SKIP, 1);
} CONFIG(wrong);

struct {
	long priority;
} CONFIG(plain) = {3};

SEC("xdp") int early(void *ctx)
{
	return 2;
}

SEC("xdp") int never(void *ctx)
{
	return 2;
}

SEC("xdp") int wrong(void *ctx)
{
	return 2;
}

SEC("xdp") int plain(void *ctx)
{
	return 2;
}

SEC("xdp") int silent(void *ctx)
{
	return 2;
}

char _license[] SEC("license") = "GPL";
