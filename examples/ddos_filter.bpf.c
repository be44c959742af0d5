/* Drops TCP SYN packets that look like those of the tools and systems an attack comes from, and
 * counts them.
 *
 * A signature compares what p0f compares: the TTL a sender started with, the length of the IP
 * options, window size (absolute, or a multiple of the MSS), window scale, the layout of the TCP
 * options, and quirks (DF, an IP identification that should be zero, and the like). The layouts
 * are compared at fixed offsets, as filters that are generated from signatures do, so there is no
 * loop. Which signatures are active depends on the attack: a constant that a loader may change
 * before the load.
 *
 * Sources: the signature format of p0f 3 (its documentation); RFC 9293 (TCP), RFC 7323
 * (window scale, timestamps), RFC 2018 (selective acknowledgements).
 *
 * Slowest path, expected: a SYN that matches the last signature after it fulfilled as many
 * conditions of the one before as it can. Their windows are different multiples of the MSS, so
 * that only an MSS and a window of zero fulfil both. Paths that also come far in the other
 * signatures are not satisfiable, because each asks for another header length.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define IP_DF 0x4000
#define IP_OFFSET 0x1fff
#define TTL_DISTANCE 35 /* hops a packet may have taken since its TTL was the initial one */

/* TCP option kinds with their lengths */
#define OPT_MSS 0x0204
#define OPT_WSCALE 0x0303
#define OPT_SACK_OK 0x0402
#define OPT_TIMESTAMP 0x080a
#define OPT_NOP 0x01
#define OPT_NOP_NOP 0x0101

enum signature {
	SIG_BARE_SYN,	 /* *:64:0:0:512,0::: hping-like generators, no options at all */
	SIG_SCANNER,	 /* *:64:0:1460:1024,0:mss:: raw-socket port scanners */
	SIG_OLD_DESKTOP, /* *:128:0:*:65535,0:mss,nop,nop,sok:df,id+: */
	SIG_DESKTOP,	 /* *:128:0:*:8192,8:mss,nop,ws,nop,nop,sok:df,id+: */
	SIG_SERVER,	 /* *:64:0:*:mss*20,*:mss,sok,ts,nop,ws:df,id+: */
	SIG_EMBEDDED,	 /* *:64:0:*:mss*4,0:mss,sok,ts,nop,ws:df: */
	SIGNATURES,
};

struct drops {
	__u64 packets;
	__u64 bytes;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SIGNATURES);
	__type(key, __u32);
	__type(value, struct drops);
} drops SEC(".maps");

/* Bit n: drop what matches signature n. */
const volatile __u32 active = (1 << SIGNATURES) - 1;

/* Options of a SYN as laid out by the systems above. */
struct options_mss {
	__be16 mss_kind;
	__be16 mss;
} __attribute__((packed));

struct options_short { /* mss,nop,nop,sok */
	struct options_mss mss;
	__be16 nops;
	__be16 sack_ok;
} __attribute__((packed));

struct options_medium { /* mss,nop,ws,nop,nop,sok */
	struct options_mss mss;
	__u8 nop;
	__be16 scale_kind;
	__u8 scale;
	__be16 nops;
	__be16 sack_ok;
} __attribute__((packed));

struct options_full { /* mss,sok,ts,nop,ws */
	struct options_mss mss;
	__be16 sack_ok;
	__be16 ts_kind;
	__be32 ts_value;
	__be32 ts_echo;
	__u8 nop;
	__be16 scale_kind;
	__u8 scale;
} __attribute__((packed));

/* Whether a packet with this TTL may have started with the initial one. */
static __always_inline int started_at(__u8 ttl, __u8 initial)
{
	return ttl <= initial && ttl > initial - TTL_DISTANCE;
}

/* The signature of a SYN, or SIGNATURES. */
static __always_inline int match(struct iphdr *ip, struct tcphdr *tcp, void *end)
{
	void *options = tcp + 1;
	__u16 window = bpf_ntohs(tcp->window);
	int df = ip->frag_off & bpf_htons(IP_DF);

	if (tcp->doff == 5 && started_at(ip->ttl, 64) && window == 512 && !df)
		return SIG_BARE_SYN;

	struct options_mss *mss = options;
	if ((void *)(mss + 1) > end || mss->mss_kind != bpf_htons(OPT_MSS))
		return SIGNATURES;
	if (tcp->doff == 6) {
		if (started_at(ip->ttl, 64) && window == 1024 && mss->mss == bpf_htons(1460) && !df)
			return SIG_SCANNER;
		return SIGNATURES;
	}

	struct options_short *few = options;
	if (tcp->doff == 7) {
		if ((void *)(few + 1) > end)
			return SIGNATURES;
		if (started_at(ip->ttl, 128) && window == 65535 && df && ip->id &&
		    few->nops == bpf_htons(OPT_NOP_NOP) && few->sack_ok == bpf_htons(OPT_SACK_OK))
			return SIG_OLD_DESKTOP;
		return SIGNATURES;
	}

	struct options_medium *some = options;
	if (tcp->doff == 8) {
		if ((void *)(some + 1) > end)
			return SIGNATURES;
		if (started_at(ip->ttl, 128) && window == 8192 && df && ip->id &&
		    some->nop == OPT_NOP && some->scale_kind == bpf_htons(OPT_WSCALE) &&
		    some->scale == 8 && some->nops == bpf_htons(OPT_NOP_NOP) &&
		    some->sack_ok == bpf_htons(OPT_SACK_OK))
			return SIG_DESKTOP;
		return SIGNATURES;
	}

	struct options_full *all = options;
	if (tcp->doff != 10 || (void *)(all + 1) > end)
		return SIGNATURES;
	if (all->sack_ok != bpf_htons(OPT_SACK_OK) || all->ts_kind != bpf_htons(OPT_TIMESTAMP) ||
	    all->nop != OPT_NOP || all->scale_kind != bpf_htons(OPT_WSCALE))
		return SIGNATURES;
	if (!started_at(ip->ttl, 64) || !df)
		return SIGNATURES;
	if (window == bpf_ntohs(mss->mss) * 20 && ip->id && all->ts_value && !all->ts_echo)
		return SIG_SERVER;
	if (window == bpf_ntohs(mss->mss) * 4 && all->scale == 0)
		return SIG_EMBEDDED;
	return SIGNATURES;
}

SEC("xdp")
int ddos_filter(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct tcphdr *tcp = (void *)(ip + 1);

	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	/* All signatures ask for an IP header without options. */
	if (ip->version != 4 || ip->ihl != 5 || ip->protocol != IPPROTO_TCP)
		return XDP_PASS;
	if (ip->frag_off & bpf_htons(IP_OFFSET))
		return XDP_PASS;
	if ((void *)(tcp + 1) > end)
		return XDP_PASS;
	/* Quirks no signature allows: flags beside SYN, a used acknowledgement or urgent field. */
	if (!tcp->syn || tcp->ack || tcp->rst || tcp->fin || tcp->psh || tcp->urg)
		return XDP_PASS;
	if (!tcp->seq || tcp->ack_seq || tcp->urg_ptr)
		return XDP_PASS;

	__u32 signature = match(ip, tcp, end);
	if (signature >= SIGNATURES || !(active >> signature & 1))
		return XDP_PASS;

	struct drops *counter = bpf_map_lookup_elem(&drops, &signature);
	if (counter) {
		counter->packets++;
		counter->bytes += end - data;
	}
	return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
