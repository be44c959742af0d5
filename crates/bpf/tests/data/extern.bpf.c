// References that only a kernel can resolve: to configuration, variables and functions.
#include "bpf.h"

#define __kconfig __attribute__((section(".kconfig")))
#define __ksym __attribute__((section(".ksyms")))

extern u32 LINUX_KERNEL_VERSION __kconfig;
extern const int bpf_prog_active __ksym;
extern int bpf_xdp_metadata_rx_hash(const struct xdp_md *ctx, u32 *hash, u32 *type) __ksym;

SEC("xdp")
int uses_kernel(struct xdp_md *ctx)
{
	u32 hash = 0, type = 0;

	if (bpf_xdp_metadata_rx_hash(ctx, &hash, &type))
		return XDP_DROP;
	if (LINUX_KERNEL_VERSION > 5)
		return XDP_PASS;
	return hash + *(volatile int *)&bpf_prog_active;
}

SEC("xdp.frags")
int __attribute__((naked)) does_not(struct xdp_md *ctx)
{
	asm volatile("r0 = 2; exit;");
}
