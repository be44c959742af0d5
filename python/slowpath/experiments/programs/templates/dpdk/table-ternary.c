//@ include head.h

#include <rte_acl.h>
//@ include packets.h

enum { BURST = 16 };
RTE_ACL_RULE_DEF(rule, 2);

/* What packets are classified by: the library asks for a first field of one byte. */
struct searched {
	uint8_t zero;
	uint8_t padding[3];
	uint32_t word; /* as in a packet: the first byte is the highest */
};

static struct rte_acl_ctx *table;

static long touched(void)
{
	return 1000;
}

static int set_up(void)
{
	static const struct rte_acl_field_def fields[2] = {
		{ .type = RTE_ACL_FIELD_TYPE_BITMASK, .size = 1, .field_index = 0, .input_index = 0 },
		{ .type = RTE_ACL_FIELD_TYPE_BITMASK, .size = 4, .field_index = 1, .input_index = 1,
		  .offset = offsetof(struct searched, word) },
	};
	struct rte_acl_param parameters = {
		.name = "table", .rule_size = RTE_ACL_RULE_SZ(2), .max_rule_num = entries,
	};
	struct rte_acl_config config = { .num_categories = 1, .num_fields = 2 };

	table = rte_acl_create(&parameters);
	if (!table)
		return -1;
	for (uint32_t i = 0; i < entries; i++) {
		struct rule rule = { .data = { .category_mask = 1, .priority = entries - i,
					       .userdata = i + 1 } };

		/* No packet has the first bit, so only the last entry matches. */
		rule.field[1].value.u32 = i + 1 < entries ? 1U << 31 | i * ${spread}U : 0;
		rule.field[1].mask_range.u32 = i + 1 < entries ? ~0U << i % 8 : 1U << 31;
		rule.field[1].value.u32 &= rule.field[1].mask_range.u32;
		if (rte_acl_add_rules(table, (struct rte_acl_rule *)&rule, 1))
			return -1;
	}
	memcpy(config.defs, fields, sizeof(fields));
	return rte_acl_build(table, &config) ? -1 : 0;
}

static void tear_down(void)
{
	rte_acl_free(table);
	table = NULL;
}

static inline uint64_t run(uint32_t count, int component)
{
	struct searched burst[BURST] = { 0 };
	const uint8_t *data[BURST];
	uint32_t found[BURST];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i += BURST) {
		for (uint32_t j = 0; j < BURST; j++) {
			memcpy(&burst[j].word, next_packet(i + j) + KEY_OFFSET, 4);
			data[j] = (const uint8_t *)&burst[j];
		}
		asm volatile("" : : "r"(burst) : "memory");
		if (component) {
			rte_acl_classify(table, data, found, BURST, 1);
			sum += found[0];
		}
		keep(sum);
	}
	return sum;
}
//@ include main.h
