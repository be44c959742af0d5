//@ include head.h

#include <rte_hash.h>
#include <rte_hash_crc.h>
//@ include packets.h

enum { TABLES = 32, KEY = 64 };
static struct rte_hash *hash[TABLES];
static uint8_t *actions[TABLES];

static long touched(void)
{
	long all = entries < 200000 ? entries : 200000;

	return all;
}

/* Checks that look-ups find each key, and no other. */
static int check_look_ups(long t, uint8_t *key)
{
	void *action;

	for (uint32_t i = 0; i < entries; i++) {
		memcpy(key, &i, sizeof(i));
		if (rte_hash_lookup_data(hash[t], key, &action) < 0 ||
		    action != actions[t] + (size_t)i * value_bytes)
			return refuse("table %ld: entry %u is not found", t, i);
	}
	key[3] |= 0x80;
	if (rte_hash_lookup_data(hash[t], key, &action) >= 0)
		return refuse("table %ld: a key is found that is not there", t);
	return 0;
}

static int set_up(void)
{
	for (long t = 0; t < tables; t++) {
		struct rte_hash_parameters parameters = {
			.entries = entries < 16 ? 16 : entries,
			.key_len = key_bytes,
			.hash_func = rte_hash_crc,
			.extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE, /* room for all entries */
		};
		char name[RTE_HASH_NAMESIZE];
		uint8_t key[KEY] = { 0 };

		snprintf(name, sizeof(name), "table%ld", t);
		parameters.name = name;
		hash[t] = rte_hash_create(&parameters);
		actions[t] = rte_zmalloc(NULL, (size_t)entries * value_bytes, 64);
		if (!hash[t] || !actions[t])
			return -1;
		memcpy(key, packets + KEY_OFFSET, key_bytes);
		for (uint32_t i = 0; i < entries; i++) {
			uint8_t *action = actions[t] + (size_t)i * value_bytes;

			memcpy(key, &i, sizeof(i));
			*(uint64_t *)action = 1;
			if (rte_hash_add_key_data(hash[t], key, action) < 0)
				return -1;
		}
		if (check_look_ups(t, key))
			return -1;
	}
	return 0;
}

static void tear_down(void)
{
	for (int t = 0; t < TABLES; t++) {
		rte_hash_free(hash[t]);
		rte_free(actions[t]);
		hash[t] = NULL;
		actions[t] = NULL;
	}
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *key = next_packet(i) + KEY_OFFSET;

//@ if not hit
		key[3] |= 0x80; /* no entry has this bit */
//@ end
		sum += key[0];
		keep(sum);
		for (long t = 0; component && t < tables; t++) {
			for (long again = 0; again < repeats; again++) {
				void *action;

				if (rte_hash_lookup_data(hash[t], key, &action) >= 0)
					sum += *(uint64_t *)action;
				keep(sum);
			}
		}
	}
	return sum;
}
//@ include main.h
