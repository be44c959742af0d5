//@ include head.h

#include <rte_acl.h>
//@ include packets.h

enum { BURST = 16, TABLES = 32, WORDS = 16 };
RTE_ACL_RULE_DEF(rule, 1 + WORDS);

/* Key of a packet. The library requires that the first field has one byte. */
struct searched {
	uint8_t zero;
	uint8_t padding[3];
	uint32_t word[WORDS]; /* big-endian, as in a packet */
};

static struct rte_acl_ctx *table[TABLES];
static uint8_t *actions[TABLES];

static long touched(void)
{
	return 1000;
}

/* Numbers of the actions that packets find; 0: no match. */
static inline void look_up(long t, const struct searched *burst, uint32_t *found)
{
	const uint8_t *data[BURST];

	for (int i = 0; i < BURST; i++)
		data[i] = (const uint8_t *)&burst[i];
	rte_acl_classify(table[t], data, found, BURST, 1);
}

static inline void read_key(struct searched *searched, uint8_t *packet)
{
	memcpy(searched->word, packet + KEY_OFFSET, key_bytes);
}

/* No packet has the first bit of the key set, so only the last entry matches. */
static struct rule rule_of(uint32_t number)
{
	int last = number + 1 == entries;
	struct rule rule = { .data = { .category_mask = 1, .priority = entries - number,
				       .userdata = number + 1 } };

	rule.field[1].value.u32 = last ? 0 : 1U << 31 | number * ${spread}U;
	rule.field[1].mask_range.u32 = last ? 1U << 31 : ~0U << number % 8;
	rule.field[1].value.u32 &= rule.field[1].mask_range.u32;
	for (int i = 2; i <= key_bytes / 4; i++)
		rule.field[i].mask_range.u32 = last ? 0 : ~0U; /* other words of keys are zero */
	return rule;
}

static int check_look_ups(long t)
{
	struct searched burst[BURST] = { 0 };
	uint32_t found[BURST];

	for (int i = 0; i < BURST; i++)
		read_key(&burst[i], next_packet(i));
	look_up(t, burst, found);
	for (int i = 0; i < BURST; i++)
		if (found[i] != entries)
			return refuse("table %ld: a packet finds entry %u, not %ld", t, found[i],
				      (long)entries);
	return 0;
}

static int fill_table(long t)
{
	struct rte_acl_config config = { .num_categories = 1, .num_fields = 1 + key_bytes / 4 };

	config.defs[0] = (struct rte_acl_field_def){
		.type = RTE_ACL_FIELD_TYPE_BITMASK, .size = 1 };
	for (int i = 1; i < config.num_fields; i++)
		config.defs[i] = (struct rte_acl_field_def){
			.type = RTE_ACL_FIELD_TYPE_BITMASK, .size = 4, .field_index = i,
			.input_index = i, .offset = offsetof(struct searched, word[i - 1]) };
	for (uint32_t i = 0; i < entries; i++) {
		struct rule rule = rule_of(i);
		int status = rte_acl_add_rules(table[t], (struct rte_acl_rule *)&rule, 1);

		*(uint64_t *)(actions[t] + (size_t)(i + 1) * value_bytes) = 1;
		if (status)
			return refuse("entry %u cannot be added: %s", i, strerror(-status));
	}
	int status = rte_acl_build(table[t], &config);

	return status ? refuse("the table cannot be built: %s", strerror(-status)) : 0;
}

static int set_up(void)
{
	for (long t = 0; t < tables; t++) {
		char name[16];
		struct rte_acl_param parameters = {
			.name = name, .rule_size = RTE_ACL_RULE_SZ(1 + WORDS), .max_rule_num = entries,
		};

		snprintf(name, sizeof(name), "table%ld", t);
		table[t] = rte_acl_create(&parameters);
		actions[t] = rte_zmalloc(NULL, (size_t)(entries + 1) * value_bytes, 64);
		if (!table[t] || !actions[t] || fill_table(t) || check_look_ups(t))
			return -1;
	}
	return 0;
}

static void tear_down(void)
{
	for (int t = 0; t < TABLES; t++) {
		rte_acl_free(table[t]);
		rte_free(actions[t]);
		table[t] = NULL;
		actions[t] = NULL;
	}
}

static inline uint64_t run(uint32_t count, int component)
{
	struct searched burst[BURST] = { 0 };
	uint32_t found[BURST];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i += BURST) {
		for (uint32_t j = 0; j < BURST; j++)
			read_key(&burst[j], next_packet(i + j));
		asm volatile("" : : "r"(burst) : "memory");
		for (long t = 0; component && t < tables; t++) {
			for (long again = 0; again < repeats; again++) {
				look_up(t, burst, found);
				for (uint32_t j = 0; j < BURST; j++)
					sum += *(uint64_t *)(actions[t] + (size_t)found[j] * value_bytes);
				keep(sum);
			}
		}
		keep(sum);
	}
	return sum;
}
//@ include main.h
