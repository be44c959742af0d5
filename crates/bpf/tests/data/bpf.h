// The parts of the kernel's and libbpf's headers that the test programs use, so that they compile on
// every machine.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

struct xdp_md {
	u32 data;
	u32 data_end;
	u32 data_meta;
	u32 ingress_ifindex;
	u32 rx_queue_index;
	u32 egress_ifindex;
};

#define SEC(name) __attribute__((section(name), used))
#define __noinline __attribute__((noinline))
#define __weak __attribute__((weak))

// Map parameters, encoded in types.
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define __array(name, val) typeof(val) *name[]

#define BPF_MAP_TYPE_HASH 1
#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_PROG_ARRAY 3
#define BPF_MAP_TYPE_LPM_TRIE 11
#define BPF_MAP_TYPE_ARRAY_OF_MAPS 12

#define XDP_DROP 1
#define XDP_PASS 2

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value,
				   u64 flags) = (void *)2;
static u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static long (*bpf_tail_call)(void *ctx, void *map, u32 index) = (void *)12;
static long (*bpf_loop)(u32 count, void *callback, void *ctx, u64 flags) = (void *)181;
