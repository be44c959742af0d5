/* A table with keys of four bytes and values of two; like rte_hash.h, with the application's hash function. */
#ifndef SLOWPATH_DPDK_FBK_HASH_H
#define SLOWPATH_DPDK_FBK_HASH_H
#include <rte_common.h>
#include <rte_hash_crc.h>
#include <rte_jhash.h>

#ifndef SLOWPATH_FBK
#define SLOWPATH_FBK 4096
#endif
#define RTE_FBK_HASH_ENTRIES_MAX (1 << 20)
#define RTE_FBK_HASH_ENTRIES_PER_BUCKET_MAX 256
#define RTE_FBK_HASH_INIT_VAL_DEFAULT 0xFFFFFFFF
typedef uint32_t (*rte_fbk_hash_fn)(uint32_t key, uint32_t initial);
struct rte_fbk_hash_params {
	const char *name;
	uint32_t entries, entries_per_bucket;
	int socket_id;
	rte_fbk_hash_fn hash_func;
	uint32_t init_val;
};
struct rte_fbk_hash_table {
	uint32_t entries_per_bucket, used_entries, bucket_mask;
	struct {
		uint16_t is_entry, value;
		uint32_t key;
	} t[SLOWPATH_FBK];
};
SLOWPATH_KEPT struct rte_fbk_hash_table *rte_fbk_hash_started(struct rte_fbk_hash_table *table,
							      const struct rte_fbk_hash_params *asked)
{
	uint32_t entries = RTE_MIN(asked->entries, (uint32_t)SLOWPATH_FBK);

	if (!rte_is_power_of_2(asked->entries) || !rte_is_power_of_2(asked->entries_per_bucket) ||
	    asked->entries_per_bucket > RTE_FBK_HASH_ENTRIES_PER_BUCKET_MAX || asked->entries < asked->entries_per_bucket)
		return 0;
	table->entries_per_bucket = asked->entries_per_bucket;
	table->bucket_mask = entries / asked->entries_per_bucket - 1;
	return table;
}
#define rte_fbk_hash_create(asked) __extension__({ \
	static struct rte_fbk_hash_table rte_fbk_hash_table; \
	rte_fbk_hash_started(&rte_fbk_hash_table, asked); \
})
/* Returns the index of a key, else of the first free slot of its bucket, else -ENOSPC. */
SLOWPATH_KEPT int32_t rte_fbk_hash_find(const struct rte_fbk_hash_table *table, uint32_t key)
{
	uint32_t first = (rte_jhash_1word(key, RTE_FBK_HASH_INIT_VAL_DEFAULT) & table->bucket_mask) * table->entries_per_bucket;
	uint32_t at;

	SLOWPATH_LOOP for (at = first; at < first + table->entries_per_bucket; at++)
		if (!table->t[at].is_entry || table->t[at].key == key)
			return (int32_t)at;
	return -ENOSPC;
}
SLOWPATH_INLINE int rte_fbk_hash_add_key(struct rte_fbk_hash_table *table, uint32_t key, uint16_t value)
{
	int32_t at = rte_fbk_hash_find(table, key);

	if (at < 0) {
		slowpath_dpdk_totals.refused++;
		return -ENOSPC;
	}
	table->used_entries += !table->t[at].is_entry;
	table->t[at].is_entry = 1;
	table->t[at].key = key;
	table->t[at].value = value;
	return 0;
}
SLOWPATH_INLINE int rte_fbk_hash_lookup(const struct rte_fbk_hash_table *table, uint32_t key)
{
	int32_t at = rte_fbk_hash_find(table, key);

	return at < 0 || !table->t[at].is_entry ? -ENOENT : table->t[at].value;
}
SLOWPATH_INLINE void rte_fbk_hash_free(struct rte_fbk_hash_table *table) { (void)table; }
#endif
