/* A hash table as on NICs: buckets with a fixed number of slots, without allocation. A lookup hashes the key and
 * compares the slots of one bucket; a key without a free slot is refused. Each call site that creates a table has its
 * own table of at most `SLOWPATH_BUCKETS` buckets. */
#ifndef SLOWPATH_DPDK_HASH_H
#define SLOWPATH_DPDK_HASH_H
#include <rte_common.h>
#include <rte_lcore.h>
#include <nic/sizes.h>

#ifndef SLOWPATH_KEY
#define SLOWPATH_KEY 40
#endif
#define RTE_HASH_LOOKUP_BULK_MAX 64
#define RTE_HASH_NAMESIZE 32
#define RTE_HASH_EXTRA_FLAGS_TRANS_MEM_SUPPORT 0x01
#define RTE_HASH_EXTRA_FLAGS_MULTI_WRITER_ADD 0x02
#define RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY 0x04
#define RTE_HASH_EXTRA_FLAGS_EXT_TABLE 0x08
#define RTE_HASH_EXTRA_FLAGS_NO_FREE_ON_DEL 0x10
#define RTE_HASH_EXTRA_FLAGS_RW_CONCURRENCY_LF 0x20

typedef uint32_t hash_sig_t;
typedef uint32_t (*rte_hash_function)(const void *key, uint32_t length, uint32_t initial);

struct rte_hash_parameters {
	const char *name;
	uint32_t entries;
	uint32_t reserved;
	uint32_t key_len;
	rte_hash_function hash_func;
	uint32_t hash_func_init_val;
	int socket_id;
	uint8_t extra_flag;
};

struct slowpath_dpdk_slot {
	uint32_t tag; /* 0: free */
	uint8_t key[SLOWPATH_KEY];
	void *data;
};
struct rte_hash {
	struct {
		struct slowpath_dpdk_slot slots[SLOWPATH_SLOTS];
	} buckets[SLOWPATH_BUCKETS];
	uint32_t key_len, number, each, used;
};

/* The table has at most as many slots as requested entries, so that positions are below that number. */
SLOWPATH_KEPT struct rte_hash *rte_hash_started(struct rte_hash *table, const struct rte_hash_parameters *asked)
{
	if (asked->key_len > SLOWPATH_KEY)
		slowpath_dpdk_key_is_too_long();
	table->key_len = asked->key_len;
	table->each = asked->entries < SLOWPATH_SLOTS ? asked->entries : SLOWPATH_SLOTS;
	table->number = RTE_MIN(asked->entries / SLOWPATH_SLOTS, (uint32_t)SLOWPATH_BUCKETS);
	if (!table->number)
		table->number = 1;
	return asked->entries ? table : 0;
}
#define rte_hash_create(parameters) __extension__({ \
	static struct rte_hash rte_hash; \
	rte_hash_started(&rte_hash, parameters); \
})

/* Mixes the hash, so that all bits choose the bucket. The program's hash function is ignored, because a card has its
 * own. */
SLOWPATH_KEPT hash_sig_t rte_hash_hash(const struct rte_hash *table, const void *key)
{
	const uint8_t *bytes = (const uint8_t *)key;
	uint32_t hash = table->key_len, at, word;

	SLOWPATH_LOOP for (at = 0; at + 4 <= table->key_len; at += 4) {
		memcpy(&word, bytes + at, 4);
		hash = (hash ^ word) * 0x85ebca6b;
		hash ^= hash >> 13;
	}
	SLOWPATH_LOOP for (; at < table->key_len; at++) {
		hash = (hash ^ bytes[at]) * 0x85ebca6b;
		hash ^= hash >> 13;
	}
	return hash ^ hash >> 16;
}

SLOWPATH_INLINE int slowpath_dpdk_same(const uint8_t *one, const uint8_t *other, uint32_t length)
{
	uint32_t at;

	SLOWPATH_LOOP for (at = 0; at + 4 <= length; at += 4) {
		uint32_t a, b;

		memcpy(&a, one + at, 4);
		memcpy(&b, other + at, 4);
		if (a != b)
			return 0;
	}
	SLOWPATH_LOOP for (; at < length; at++)
		if (one[at] != other[at])
			return 0;
	return 1;
}

/* Returns the position of a key, or -ENOENT; `*free` is a free slot of its bucket, or -ENOSPC. */
SLOWPATH_KEPT int32_t rte_hash_find_slot(struct rte_hash *table, const void *key, hash_sig_t hash, int32_t *free)
{
	uint32_t bucket = hash % table->number, at;

	*free = -ENOSPC;
	SLOWPATH_LOOP for (at = 0; at < table->each; at++) {
		struct slowpath_dpdk_slot *slot = &table->buckets[bucket].slots[at];
		int32_t position = (int32_t)(bucket * table->each + at);

		if (slot->tag == (hash | 1) && slowpath_dpdk_same(slot->key, (const uint8_t *)key, table->key_len))
			return position;
		if (!slot->tag && *free < 0)
			*free = position;
	}
	return -ENOENT;
}
SLOWPATH_INLINE struct slowpath_dpdk_slot *slowpath_dpdk_at(struct rte_hash *table, int32_t position)
{
	return &table->buckets[(uint32_t)position / table->each].slots[(uint32_t)position % table->each];
}

SLOWPATH_INLINE int32_t rte_hash_lookup_with_hash(const struct rte_hash *table, const void *key, hash_sig_t hash)
{
	int32_t free;

	return rte_hash_find_slot((struct rte_hash *)table, key, hash, &free);
}
SLOWPATH_INLINE int32_t rte_hash_lookup(const struct rte_hash *table, const void *key)
{
	return rte_hash_lookup_with_hash(table, key, rte_hash_hash(table, key));
}
SLOWPATH_INLINE int rte_hash_lookup_with_hash_data(const struct rte_hash *table, const void *key, hash_sig_t hash,
						   void **data)
{
	int32_t found = rte_hash_lookup_with_hash(table, key, hash);

	if (found >= 0)
		*data = slowpath_dpdk_at((struct rte_hash *)table, found)->data;
	return found;
}
SLOWPATH_INLINE int rte_hash_lookup_data(const struct rte_hash *table, const void *key, void **data)
{
	return rte_hash_lookup_with_hash_data(table, key, rte_hash_hash(table, key), data);
}
SLOWPATH_INLINE int rte_hash_lookup_bulk(const struct rte_hash *table, const void **keys, uint32_t count,
					 int32_t *positions)
{
	uint32_t at;

	SLOWPATH_LOOP for (at = 0; at < count; at++)
		positions[at] = rte_hash_lookup(table, keys[at]);
	return 0;
}
SLOWPATH_INLINE int rte_hash_lookup_bulk_data(const struct rte_hash *table, const void **keys, uint32_t count,
					      uint64_t *mask, void *data[])
{
	int found = 0;
	uint32_t at;

	*mask = 0;
	SLOWPATH_LOOP for (at = 0; at < count; at++)
		if (rte_hash_lookup_data(table, keys[at], &data[at]) >= 0) {
			*mask |= UINT64_C(1) << at;
			found++;
		}
	return found;
}

/* As in DPDK, data of an existing key is replaced. */
SLOWPATH_KEPT int32_t rte_hash_take_slot(struct rte_hash *table, const void *key, hash_sig_t hash, void *data)
{
	int32_t free, found = rte_hash_find_slot(table, key, hash, &free);
	struct slowpath_dpdk_slot *slot;

	if (found < 0) {
		if (free < 0) {
			slowpath_dpdk_totals.refused++;
			return -ENOSPC;
		}
		found = free;
		slot = slowpath_dpdk_at(table, found);
		slot->tag = hash | 1;
		memcpy(slot->key, key, table->key_len);
		table->used++;
	}
	slowpath_dpdk_at(table, found)->data = data;
	return found;
}
SLOWPATH_INLINE int32_t rte_hash_add_key_with_hash(const struct rte_hash *table, const void *key, hash_sig_t hash)
{
	return rte_hash_take_slot((struct rte_hash *)table, key, hash, 0);
}
SLOWPATH_INLINE int32_t rte_hash_add_key(const struct rte_hash *table, const void *key)
{
	return rte_hash_add_key_with_hash(table, key, rte_hash_hash(table, key));
}
SLOWPATH_INLINE int rte_hash_add_key_with_hash_data(const struct rte_hash *table, const void *key, hash_sig_t hash,
						    void *data)
{
	int32_t found = rte_hash_take_slot((struct rte_hash *)table, key, hash, data);

	return found < 0 ? found : 0;
}
SLOWPATH_INLINE int rte_hash_add_key_data(const struct rte_hash *table, const void *key, void *data)
{
	return rte_hash_add_key_with_hash_data(table, key, rte_hash_hash(table, key), data);
}
SLOWPATH_INLINE int32_t rte_hash_del_key_with_hash(const struct rte_hash *table, const void *key, hash_sig_t hash)
{
	struct rte_hash *written = (struct rte_hash *)table;
	int32_t found = rte_hash_lookup_with_hash(table, key, hash);

	if (found >= 0) {
		slowpath_dpdk_at(written, found)->tag = 0;
		written->used--;
	}
	return found;
}
SLOWPATH_INLINE int32_t rte_hash_del_key(const struct rte_hash *table, const void *key)
{
	return rte_hash_del_key_with_hash(table, key, rte_hash_hash(table, key));
}
SLOWPATH_INLINE int rte_hash_get_key_with_position(const struct rte_hash *table, int32_t position, void **key)
{
	struct slowpath_dpdk_slot *slot;

	if (position < 0 || (uint32_t)position >= table->number * table->each)
		return -EINVAL;
	slot = slowpath_dpdk_at((struct rte_hash *)table, position);
	if (!slot->tag)
		return -ENOENT;
	*key = slot->key;
	return 0;
}
SLOWPATH_INLINE int32_t rte_hash_iterate(const struct rte_hash *table, const void **key, void **data, uint32_t *next)
{
	SLOWPATH_LOOP while (*next < table->number * table->each) {
		struct slowpath_dpdk_slot *slot = slowpath_dpdk_at((struct rte_hash *)table, (int32_t)(*next)++);

		if (slot->tag) {
			*key = slot->key;
			*data = slot->data;
			return (int32_t)*next - 1;
		}
	}
	return -ENOENT;
}
SLOWPATH_INLINE int32_t rte_hash_count(const struct rte_hash *table) { return (int32_t)table->used; }
SLOWPATH_KEPT void rte_hash_reset(struct rte_hash *table)
{
	uint32_t at;

	SLOWPATH_LOOP for (at = 0; at < table->number * table->each; at++)
		slowpath_dpdk_at(table, (int32_t)at)->tag = 0;
	table->used = 0;
}
SLOWPATH_INLINE void rte_hash_free(struct rte_hash *table) { (void)table; }
SLOWPATH_INLINE void rte_hash_set_cmp_func(struct rte_hash *table, void *function) { (void)table, (void)function; }
#endif
