/* What prefixes and rules do, by the bytes of packets: returns what is found. */
#include <rte_acl.h>
#include <rte_fib.h>
#include <rte_ip.h>
#include <rte_mbuf.h>

#define TURN 16
#define FIELDS 5
#define CATEGORIES 4

/* As in a packet: the first field of one byte, the others in groups of four. */
struct asked {
	uint8_t proto, zero[3];
	uint32_t src, dst;
	uint16_t sport, dport;
};
RTE_ACL_RULE_DEF(rule, FIELDS);

static const uint32_t some[] = {RTE_IPV4(10, 0, 0, 1), RTE_IPV4(10, 0, 0, 2), RTE_IPV4(10, 0, 1, 1), RTE_IPV4(10, 9, 9, 9),
				RTE_IPV4(192, 0, 2, 7), RTE_IPV4(0, 0, 0, 0), RTE_IPV4(255, 255, 255, 255)};
static struct rte_fib *fib;
static struct rte_acl_ctx *rules;
static int32_t added;

static void start(void)
{
	struct rte_fib_conf config = {.type = RTE_FIB_DIR24_8, .default_nh = 77, .max_routes = 4096};
	struct rte_acl_param asked = {.name = "rules", .rule_size = RTE_ACL_RULE_SZ(FIELDS), .max_rule_num = 100};

	config.dir24_8.nh_sz = RTE_FIB_DIR24_8_1B;
	config.dir24_8.num_tbl8 = 120;
	fib = rte_fib_create("fib", SOCKET_ID_ANY, &config);
	rte_fib_add(fib, 0, 0, 78);
	rules = rte_acl_create(&asked);
}

static int build(void)
{
	struct rte_acl_config config = {
		.num_categories = CATEGORIES,
		.num_fields = FIELDS,
		.defs = {
			{RTE_ACL_FIELD_TYPE_BITMASK, 1, 0, 0, offsetof(struct asked, proto)},
			{RTE_ACL_FIELD_TYPE_MASK, 4, 1, 1, offsetof(struct asked, src)},
			{RTE_ACL_FIELD_TYPE_MASK, 4, 2, 2, offsetof(struct asked, dst)},
			{RTE_ACL_FIELD_TYPE_RANGE, 2, 3, 3, offsetof(struct asked, sport)},
			{RTE_ACL_FIELD_TYPE_RANGE, 2, 4, 3, offsetof(struct asked, dport)},
		},
	};

	return rte_acl_build(rules, &config);
}

/* No two rules have the same priority, of which nothing says which one is found. */
static int add(const uint8_t *b)
{
	struct rule one = {0};
	int failed;

	one.data.category_mask = b[2] % 16;
	one.data.priority = b[2] % 16 ? 1 + added * 7919 % 100003 : 1;
	one.data.userdata = (uint32_t)added + 1;
	one.field[0].mask_range.u8 = b[3] % 3 ? 0 : 0x0f;
	one.field[0].value.u8 = b[4] & one.field[0].mask_range.u8;
	one.field[1].mask_range.u32 = b[5] % 4 * 8;
	one.field[1].value.u32 = some[b[6] % RTE_DIM(some)];
	one.field[2].mask_range.u32 = b[7] % 33;
	one.field[2].value.u32 = some[b[8] % RTE_DIM(some)];
	one.field[3].value.u16 = b[9] % 2 * 20;
	one.field[3].mask_range.u16 = (uint16_t)(b[9] % 2 ? 30 + b[10] : 65535);
	one.field[4].value.u16 = (uint16_t)(b[11] % 2 * b[12]);
	one.field[4].mask_range.u16 = (uint16_t)(one.field[4].value.u16 + 60000);
	failed = rte_acl_add_rules(rules, (struct rte_acl_rule *)&one, 1);
	if (!failed)
		added++;
	return failed ? failed : build();
}

static int find(const uint8_t *b)
{
	struct asked one = {.proto = b[4], .src = rte_cpu_to_be_32(some[b[6] % RTE_DIM(some)]),
			    .dst = rte_cpu_to_be_32(some[b[8] % RTE_DIM(some)]),
			    .sport = rte_cpu_to_be_16(b[10]), .dport = rte_cpu_to_be_16(b[12])};
	const uint8_t *data = (const uint8_t *)&one;
	uint32_t found[CATEGORIES] = {0};

	if (!added)
		return -1;
	if (rte_acl_classify(rules, &data, found, 1, CATEGORIES))
		return -2;
	return (int)(found[0] + 101 * found[1] + 10201 * found[2] + 1030301 * found[3]);
}

int turn(const uint8_t *b)
{
	uint32_t ips[2] = {some[b[1] % RTE_DIM(some)], some[b[2] % RTE_DIM(some)]};
	uint64_t hops[2] = {0, 0};

	switch (b[0] % 8) {
	/* DPDK 22.11 forgets others when the prefix of no bits is added or deleted behind them. */
	case 0: return rte_fib_add(fib, ips[0], b[3] % 33 + 1, b[4]);
	case 1: return rte_fib_delete(fib, ips[0], b[3] % 33 + 1);
	case 2:
	case 3: return rte_fib_lookup_bulk(fib, ips, hops, 2) + (int)(1000 * hops[0] + hops[1]);
	case 4: return add(b);
	default: return find(b);
	}
}
#ifdef BESIDE
#include "twin.h"
#else
RTE_INIT(started) { start(); }
int take(const struct rte_mbuf *m) { return turn(rte_pktmbuf_mtod(m, const uint8_t *)); }
#endif
