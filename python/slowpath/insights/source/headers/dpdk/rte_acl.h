/* Rules over fields of a packet. A lookup compares all rules, as a card without a TCAM may, and takes the matching rule
 * of highest priority for each category. Each call site that creates a list has its own list of `SLOWPATH_RULES` rules
 * with at most `SLOWPATH_FIELDS` fields. */
#ifndef SLOWPATH_DPDK_ACL_H
#define SLOWPATH_DPDK_ACL_H
#include <rte_common.h>
#include <rte_lcore.h>

#ifndef SLOWPATH_RULES
#define SLOWPATH_RULES 1024
#endif
#ifndef SLOWPATH_FIELDS
#define SLOWPATH_FIELDS 8
#endif
#define RTE_ACL_MAX_CATEGORIES 16
#define RTE_ACL_RESULTS_MULTIPLIER 4
#define RTE_ACL_MAX_LEVELS 64
#define RTE_ACL_MAX_FIELDS 64
#define RTE_ACL_NAMESIZE 32

enum { RTE_ACL_FIELD_TYPE_MASK = 0, RTE_ACL_FIELD_TYPE_RANGE, RTE_ACL_FIELD_TYPE_BITMASK };
enum {
	RTE_ACL_TYPE_SHIFT = 29,
	RTE_ACL_MAX_INDEX = (1 << 29) - 1,
	RTE_ACL_MAX_PRIORITY = RTE_ACL_MAX_INDEX,
	RTE_ACL_MIN_PRIORITY = 1
};
enum rte_acl_classify_alg {
	RTE_ACL_CLASSIFY_DEFAULT,
	RTE_ACL_CLASSIFY_SCALAR,
	RTE_ACL_CLASSIFY_SSE,
	RTE_ACL_CLASSIFY_AVX2,
	RTE_ACL_CLASSIFY_NEON,
	RTE_ACL_CLASSIFY_ALTIVEC,
	RTE_ACL_CLASSIFY_AVX512X16,
	RTE_ACL_CLASSIFY_AVX512X32,
	RTE_ACL_CLASSIFY_RVV
};

union rte_acl_field_types {
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
};
struct rte_acl_field_def {
	uint8_t type, size, field_index, input_index;
	uint32_t offset;
};
struct rte_acl_config {
	uint32_t num_categories, num_fields;
	struct rte_acl_field_def defs[RTE_ACL_MAX_FIELDS];
	size_t max_size;
};
/* In host byte order; fields in packets are in network byte order. */
struct rte_acl_field {
	union rte_acl_field_types value, mask_range;
};
struct rte_acl_rule_data {
	uint32_t category_mask;
	int32_t priority;
	uint32_t userdata;
};
#define RTE_ACL_RULE_DEF(name, count) \
	struct name { \
		struct rte_acl_rule_data data; \
		struct rte_acl_field field[count]; \
	}
RTE_ACL_RULE_DEF(rte_acl_rule, );
#define RTE_ACL_RULE_SZ(count) (sizeof(struct rte_acl_rule) + sizeof(struct rte_acl_field) * (count))
struct rte_acl_param {
	const char *name;
	int socket_id;
	uint32_t rule_size, max_rule_num;
};

struct rte_acl_ctx {
	struct {
		struct rte_acl_rule_data data;
		struct rte_acl_field field[SLOWPATH_FIELDS];
	} rules[SLOWPATH_RULES];
	struct rte_acl_field_def defs[SLOWPATH_FIELDS];
	uint32_t number; /* fields of a rule */
	uint32_t size, most, used, built;
};

SLOWPATH_C void slowpath_dpdk_too_many_fields(void) __attribute__((noreturn));

SLOWPATH_KEPT struct rte_acl_ctx *rte_acl_started(struct rte_acl_ctx *list, const struct rte_acl_param *asked)
{
	if (!asked || !asked->name)
		return 0;
	if (asked->rule_size > RTE_ACL_RULE_SZ(SLOWPATH_FIELDS))
		slowpath_dpdk_too_many_fields();
	list->size = asked->rule_size;
	list->most = RTE_MIN(asked->max_rule_num, (uint32_t)SLOWPATH_RULES);
	return list;
}
#define rte_acl_create(asked) __extension__({ \
	static struct rte_acl_ctx rte_acl_ctx; \
	rte_acl_started(&rte_acl_ctx, asked); \
})

/* Adds all rules or none. */
SLOWPATH_KEPT int rte_acl_add_rules(struct rte_acl_ctx *list, const struct rte_acl_rule *rules, uint32_t count)
{
	const uint8_t *from = (const uint8_t *)rules;
	uint32_t at, all = (1u << RTE_ACL_MAX_CATEGORIES) - 1;

	if (!list || !rules || !list->size)
		return -EINVAL;
	SLOWPATH_LOOP for (at = 0; at < count; at++) {
		const struct rte_acl_rule_data *one = (const struct rte_acl_rule_data *)(from + at * list->size);

		if (!(one->category_mask & all) || one->priority < RTE_ACL_MIN_PRIORITY ||
		    one->priority > RTE_ACL_MAX_PRIORITY)
			return -EINVAL;
	}
	if (count > list->most - list->used) {
		slowpath_dpdk_totals.refused += count;
		return -ENOMEM;
	}
	SLOWPATH_LOOP for (at = 0; at < count; at++)
		memcpy(&list->rules[list->used++], from + at * list->size, list->size);
	return 0;
}

SLOWPATH_KEPT int rte_acl_build(struct rte_acl_ctx *list, const struct rte_acl_config *asked)
{
	uint32_t at;

	if (!list || !asked || !asked->num_fields || !asked->num_categories ||
	    asked->num_categories > RTE_ACL_MAX_CATEGORIES)
		return -EINVAL;
	if (asked->num_fields > SLOWPATH_FIELDS)
		slowpath_dpdk_too_many_fields();
	SLOWPATH_LOOP for (at = 0; at < asked->num_fields; at++) {
		if (asked->defs[at].type > RTE_ACL_FIELD_TYPE_BITMASK ||
		    !rte_is_power_of_2(asked->defs[at].size) || asked->defs[at].size > 8)
			return -EINVAL;
		list->defs[at] = asked->defs[at];
	}
	list->number = asked->num_fields;
	list->built = list->used;
	return 0;
}

SLOWPATH_INLINE uint64_t slowpath_dpdk_sized(const union rte_acl_field_types *x, uint32_t size)
{
	return size == 1 ? x->u8 : size == 2 ? x->u16 : size == 4 ? x->u32 : x->u64;
}
/* Returns true if a field of a packet matches a rule. */
SLOWPATH_KEPT int rte_acl_holds(const struct rte_acl_field_def *what, const struct rte_acl_field *field,
				const uint8_t *data)
{
	uint64_t value = slowpath_dpdk_sized(&field->value, what->size), found = 0, mask;
	uint32_t at;

	SLOWPATH_LOOP for (at = 0; at < what->size; at++)
		found = found << 8 | data[what->offset + at];
	if (what->type == RTE_ACL_FIELD_TYPE_RANGE)
		return found >= value && found <= slowpath_dpdk_sized(&field->mask_range, what->size);
	if (what->type == RTE_ACL_FIELD_TYPE_BITMASK)
		mask = slowpath_dpdk_sized(&field->mask_range, what->size);
	else
		mask = field->mask_range.u32 ? UINT64_MAX << (8u * what->size - field->mask_range.u32) : 0;
	return ((found ^ value) & mask) == 0;
}

/* Stores the user data of the best rule by packet and category; 0 if no rule matches. */
SLOWPATH_KEPT int rte_acl_classify(const struct rte_acl_ctx *list, const uint8_t **data, uint32_t *results,
				   uint32_t count, uint32_t categories)
{
	uint32_t packet, at, field, category;
	int32_t best[RTE_ACL_MAX_CATEGORIES];

	if (!categories || categories > RTE_ACL_MAX_CATEGORIES ||
	    (categories != 1 && categories % RTE_ACL_RESULTS_MULTIPLIER))
		return -EINVAL;
	SLOWPATH_LOOP for (packet = 0; packet < count; packet++, results += categories) {
		SLOWPATH_LOOP for (category = 0; category < categories; category++)
			best[category] = results[category] = 0;
		SLOWPATH_LOOP for (at = 0; at < list->built; at++) {
			const struct rte_acl_rule_data *one = &list->rules[at].data;

			SLOWPATH_LOOP for (field = 0; field < list->number; field++)
				if (!rte_acl_holds(&list->defs[field],
						   &list->rules[at].field[list->defs[field].field_index], data[packet]))
					break;
			SLOWPATH_LOOP for (category = 0; field == list->number && category < categories; category++)
				if (one->category_mask >> category & 1 && one->priority > best[category]) {
					best[category] = one->priority;
					results[category] = one->userdata;
				}
		}
	}
	return 0;
}
SLOWPATH_INLINE int rte_acl_classify_alg(const struct rte_acl_ctx *list, const uint8_t **data, uint32_t *results,
					 uint32_t count, uint32_t categories, enum rte_acl_classify_alg way)
{
	(void)way;
	return rte_acl_classify(list, data, results, count, categories);
}
SLOWPATH_INLINE int rte_acl_set_ctx_classify(struct rte_acl_ctx *list, enum rte_acl_classify_alg way)
{
	(void)list, (void)way;
	return 0;
}
SLOWPATH_INLINE void rte_acl_reset_rules(struct rte_acl_ctx *list) { list->used = 0; }
SLOWPATH_INLINE void rte_acl_reset(struct rte_acl_ctx *list) { list->used = list->built = 0; }
SLOWPATH_INLINE void rte_acl_free(struct rte_acl_ctx *list) { (void)list; }
SLOWPATH_INLINE void rte_acl_dump(const struct rte_acl_ctx *list) { (void)list; }
SLOWPATH_INLINE void rte_acl_list_dump(void) { }
#endif
