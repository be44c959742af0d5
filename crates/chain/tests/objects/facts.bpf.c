/* Programs that establish facts about the packets that they let pass.
 * Compiled with
 *   clang-16 -O2 -g -target bpf -mcpu=v3 -Wall -fdebug-compilation-dir=. \
 *     -idirafter /usr/include/x86_64-linux-gnu -c facts.bpf.c -o facts.bpf.o
 *   llvm-strip -g facts.bpf.o
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, __u32);
	__type(value, __u64);
} settings SEC(".maps");

struct option {
	__u8 next, length;
	__u8 type, size;
	__u32 zeros;
};

/* Lets only TCP over IPv6 pass, and inserts a header with destination options. */
SEC("xdp")
int firewall(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data, moved_eth;
	struct ipv6hdr *ip = (void *)(eth + 1), moved_ip;
	struct tcphdr *tcp = (void *)(ip + 1);
	struct option *option;

	if ((void *)(eth + 1) > end)
		return XDP_DROP;
	if (eth->h_proto != bpf_htons(ETH_P_IPV6))
		return XDP_DROP;
	if ((void *)(ip + 1) > end)
		return XDP_DROP;
	if (ip->version != 6)
		return XDP_DROP;
	if (ip->nexthdr != IPPROTO_TCP)
		return XDP_DROP;
	if ((void *)(tcp + 1) > end)
		return XDP_DROP;
	if (tcp->dest == bpf_htons(22))
		return XDP_DROP;
	__builtin_memcpy(&moved_eth, eth, sizeof(moved_eth));
	__builtin_memcpy(&moved_ip, ip, sizeof(moved_ip));
	moved_ip.payload_len = bpf_htons(bpf_ntohs(moved_ip.payload_len) + sizeof(*option));
	moved_ip.nexthdr = IPPROTO_DSTOPTS;
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(*option)))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	eth = data;
	ip = (void *)(eth + 1);
	option = (void *)(ip + 1);
	if ((void *)(option + 1) > end)
		return XDP_DROP;
	__builtin_memcpy(eth, &moved_eth, sizeof(moved_eth));
	__builtin_memcpy(ip, &moved_ip, sizeof(moved_ip));
	option->next = IPPROTO_TCP;
	option->length = 0;
	option->type = 1;
	option->size = 4;
	option->zeros = 0;
	return XDP_PASS;
}

/* Sets byte 20 to 8 if bytes 32 to 35 have a certain value, otherwise to 7. */
SEC("xdp")
int magic(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (data + 40 > end)
		return XDP_DROP;
	data[20] = 7;
	if (*(__u32 *)(data + 32) == 0x12345678)
		data[20] = 8;
	data[21] = 9;
	return XDP_PASS;
}

/* Swaps the Ethernet addresses, copies one of them to a later place, and sends the packet back. */
SEC("xdp")
int send_back(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u8 address[6];

	if (data + 60 > end)
		return XDP_DROP;
	__builtin_memcpy(address, data, 6);
	__builtin_memcpy(data, data + 6, 6);
	__builtin_memcpy(data + 6, address, 6);
	__builtin_memcpy(data + 42, data, 6);
	return XDP_TX;
}

/* Lets only TCP and UDP over IPv4 pass, with a smaller time to live. Packets of these protocols that
 * have options are sent back, and other protocols are aborted. */
SEC("xdp")
int protocols(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);

	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_DROP;
	if (ip->protocol != IPPROTO_TCP && ip->protocol != IPPROTO_UDP)
		return XDP_ABORTED;
	if (ip->ihl != 5)
		return XDP_TX;
	if (ip->ttl < 2)
		return XDP_DROP;
	ip->ttl--;
	return XDP_PASS;
}

/* Drops IPv4 packets, and lets all others pass. */
SEC("xdp")
int no_ipv4(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;

	if ((void *)(eth + 1) > end)
		return XDP_DROP;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		return XDP_DROP;
	return XDP_PASS;
}

/* Shortens packets by a length from a map, and writes a number that depends on this length. */
SEC("xdp")
int settled(struct xdp_md *ctx)
{
	__u32 first = 0;
	__u64 *setting = bpf_map_lookup_elem(&settings, &first);
	__u8 *data, *end;

	if (!setting || *setting > 200 || *setting < 20)
		return XDP_DROP;
	if (bpf_xdp_adjust_tail(ctx, -(int)*setting))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + 30 > end)
		return XDP_DROP;
	data[16] = *setting & 0x1f;
	data[17] = 0x45;
	return XDP_PASS;
}

/* Searches for a byte, and writes its position to the packet. */
SEC("xdp")
int searched(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	int at = 0;

	if (data + 40 > end)
		return XDP_DROP;
#pragma clang loop unroll(disable)
	for (int i = 0; i < 8; i++) {
		if (data[16 + i] == 0xaa) {
			at = i + 1;
			break;
		}
	}
	if (!at)
		return XDP_DROP;
	data[30] = at;
	data[31 + (at & 1)] = 0x55;
	return XDP_PASS;
}

/* Reads through a pointer to either the packet or the stack. */
SEC("xdp")
int either(struct xdp_md *ctx)
{
	__u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 spare[2] = {0x1111111111111111, 0x2222222222222222};
	__u8 *from = (__u8 *)spare;

	if (data + 40 > end)
		return XDP_DROP;
	if (data[20] & 1)
		from = data + 24;
	asm volatile("" : "+r"(from));
	data[30] = from[3];
	data[31] = data[20] & 1;
	return data[30] == 0x11 ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "GPL";
