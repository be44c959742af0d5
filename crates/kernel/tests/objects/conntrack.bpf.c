// Programs that call the kernel's functions for connections. They read arguments from the first 64
// bytes of the packet, and write results to the map `out`. Compiled like helpers.bpf.c.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "words.h"

/* Types of the kernel (net/netfilter/nf_conntrack_bpf.c). */
struct bpf_ct_opts {
	__s32 netns_id, error;
	__u8 l4proto, dir;
	__u16 ct_zone_id;
	__u8 ct_zone_dir, reserved[3];
};

struct nf_conn___init;

struct nf_conn {
	unsigned long status;
} __attribute__((preserve_access_index));

extern struct nf_conn___init *bpf_xdp_ct_alloc(struct xdp_md *ctx, struct bpf_sock_tuple *tuple,
					       __u32 tuple_size, struct bpf_ct_opts *opts,
					       __u32 opts_size) __ksym;
extern struct nf_conn *bpf_xdp_ct_lookup(struct xdp_md *ctx, struct bpf_sock_tuple *tuple,
					 __u32 tuple_size, struct bpf_ct_opts *opts,
					 __u32 opts_size) __ksym;
extern struct nf_conn *bpf_ct_insert_entry(struct nf_conn___init *connection) __ksym;
extern void bpf_ct_release(struct nf_conn *connection) __ksym;
extern void bpf_ct_set_timeout(struct nf_conn___init *connection, __u32 timeout) __ksym;
extern int bpf_ct_change_timeout(struct nf_conn *connection, __u32 timeout) __ksym;
extern int bpf_ct_set_status(const struct nf_conn___init *connection, __u32 status) __ksym;
extern int bpf_ct_change_status(struct nf_conn *connection, __u32 status) __ksym;

/* Few connections, so that calls often refer to the same one; some have wrong arguments. */
static __always_inline void named(struct bpf_sock_tuple *tuple, struct bpf_ct_opts *opts, __u64 *w)
{
	__builtin_memset(tuple, 0, sizeof(*tuple));
	__builtin_memset(opts, 0, sizeof(*opts));
	tuple->ipv4.saddr = 0x0100007f;
	tuple->ipv4.daddr = 0x0100007f;
	tuple->ipv4.sport = w[0] & 3;
	tuple->ipv4.dport = 7;
	opts->netns_id = w[1] & 7 ? BPF_F_CURRENT_NETNS : w[1] >> 8;
	opts->l4proto = w[2] & 7 ? 6 + 11 * (w[2] & 1) : w[2] >> 8;
	opts->reserved[0] = w[3] & 7 ? 0 : w[3] >> 8;
	opts->dir = 77;
	opts->error = 77;
}

PROGRAM(connection_looked_up)
{
	struct bpf_sock_tuple tuple;
	struct bpf_ct_opts opts;
	struct nf_conn *connection;

	named(&tuple, &opts, w);
	connection = bpf_xdp_ct_lookup(ctx, &tuple, sizeof(tuple.ipv4), &opts, sizeof(opts));
	put(0, !!connection);
	put(1, (__s64)opts.error);
	put(2, opts.dir);
	if (!connection)
		return XDP_DROP;
	put(3, connection->status);
	bpf_ct_release(connection);
	return XDP_PASS;
}

PROGRAM(connection_inserted)
{
	struct bpf_sock_tuple tuple;
	struct bpf_ct_opts opts;
	struct nf_conn___init *made;
	struct nf_conn *connection;

	named(&tuple, &opts, w);
	made = bpf_xdp_ct_alloc(ctx, &tuple, sizeof(tuple.ipv4), &opts, sizeof(opts));
	put(0, !!made);
	put(1, (__s64)opts.error);
	put(2, opts.dir);
	if (!made)
		return XDP_DROP;
	bpf_ct_set_timeout(made, 1000);
	connection = bpf_ct_insert_entry(made);
	put(3, !!connection);
	if (!connection)
		return XDP_TX;
	bpf_ct_release(connection);
	return XDP_PASS;
}

/* An existing connection, or a new one. */
static __always_inline struct nf_conn *connection_there(struct xdp_md *ctx)
{
	struct bpf_ct_opts opts = { .netns_id = BPF_F_CURRENT_NETNS, .l4proto = 17 };
	struct bpf_sock_tuple tuple = {};
	struct nf_conn___init *made;
	struct nf_conn *connection;

	tuple.ipv4.saddr = 0x0100007f;
	tuple.ipv4.daddr = 0x0100007f;
	tuple.ipv4.sport = 99;
	tuple.ipv4.dport = 7;
	connection = bpf_xdp_ct_lookup(ctx, &tuple, sizeof(tuple.ipv4), &opts, sizeof(opts));
	if (connection)
		return connection;
	made = bpf_xdp_ct_alloc(ctx, &tuple, sizeof(tuple.ipv4), &opts, sizeof(opts));
	if (!made)
		return 0;
	bpf_ct_set_timeout(made, 1000);
	return bpf_ct_insert_entry(made);
}

PROGRAM(connection_changed)
{
	struct nf_conn *connection = connection_there(ctx);

	if (!connection)
		return XDP_DROP;
	if (w[0] & 1)
		put(0, (__s64)bpf_ct_change_timeout(connection, 1000 + (w[1] & 63)));
	else
		put(1, (__s64)bpf_ct_change_status(connection, w[2] & 0xff));
	bpf_ct_release(connection);
	return XDP_PASS;
}

PROGRAM(status_set)
{
	struct bpf_ct_opts opts = { .netns_id = BPF_F_CURRENT_NETNS, .l4proto = 6 };
	struct bpf_sock_tuple tuple = {};
	struct nf_conn___init *made;
	struct nf_conn *connection;

	tuple.ipv4.saddr = 0x0100007f;
	tuple.ipv4.daddr = 0x0100007f;
	tuple.ipv4.sport = w[0] & 3;
	tuple.ipv4.dport = 8;
	made = bpf_xdp_ct_alloc(ctx, &tuple, sizeof(tuple.ipv4), &opts, sizeof(opts));
	if (!made)
		return XDP_DROP;
	bpf_ct_set_timeout(made, 1000);
	put(0, (__s64)bpf_ct_set_status(made, w[1] & 0xff));
	connection = bpf_ct_insert_entry(made);
	if (!connection)
		return XDP_TX;
	bpf_ct_release(connection);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
