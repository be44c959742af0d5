// CO-RE relocations of all kinds, which are resolved against the types of core_kernel.bpf.c.
#include "bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inside {
	u32 deep;
};

struct moved {
	u32 first;
	u32 second;
	struct inside nested;
	u16 list[4];
	u32 grown;
	s32 grown_signed;
	u32 flag_a : 3;
	u32 flag_b : 5;
	u32 gone;
};

struct moved___old {
	u64 renamed;
};

struct missing {
	u32 x;
};

#pragma clang attribute pop

enum colour { RED = 1, GREEN = 2, BLUE = 3, GREY = 4 };

typedef u32 number_t;

#define field(what, kind) __builtin_preserve_field_info(what, kind)

volatile u64 sink;

SEC("xdp")
int fields(struct xdp_md *ctx)
{
	struct moved *m = (void *)(long)ctx->rx_queue_index;
	struct moved___old *old = (void *)m;

	sink = m->second;
	sink = m->nested.deep;
	sink = m->list[2];
	sink = m->grown;
	sink = field(m->second, 0);
	sink = field(m->grown, 1);
	sink = field(m->second, 2);
	sink = field(m->gone, 2);
	sink = field(m->grown_signed, 3);
	sink = field(m->flag_b, 0);
	sink = field(m->flag_b, 1);
	sink = field(m->flag_b, 4);
	sink = field(m->flag_b, 5);
	if (field(old->renamed, 2))
		sink = old->renamed;
	return 0;
}

SEC("xdp")
int types(struct xdp_md *ctx)
{
	sink = __builtin_btf_type_id(*(struct moved *)0, 0);
	sink = __builtin_btf_type_id(*(struct moved *)0, 1);
	sink = __builtin_preserve_type_info(*(struct moved *)0, 0);
	sink = __builtin_preserve_type_info(*(struct missing *)0, 0);
	sink = __builtin_preserve_type_info(*(struct moved *)0, 1);
	sink = __builtin_preserve_type_info(*(number_t *)0, 0);
	sink = __builtin_preserve_enum_value(*(enum colour *)BLUE, 0);
	sink = __builtin_preserve_enum_value(*(enum colour *)BLUE, 1);
	sink = __builtin_preserve_enum_value(*(enum colour *)GREY, 0);
	return 0;
}

SEC("xdp")
int unresolved(struct xdp_md *ctx)
{
	struct moved *m = (void *)(long)ctx->rx_queue_index;
	struct missing *x = (void *)m;

	if (ctx->data)
		sink = m->gone;
	if (ctx->data_end)
		sink = x->x;
	if (ctx->data_meta)
		sink = m->grown_signed;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
