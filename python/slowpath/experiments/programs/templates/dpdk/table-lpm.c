//@ include head.h

//@ if method == lpm
#include <rte_lpm.h>
//@ else
#include <rte_fib.h>
//@ end
//@ include packets.h

//@ if method == lpm
static struct rte_lpm *table;
//@ else
static struct rte_fib *table;
//@ end
static uint8_t *actions;

/* Prefixes are spread: an odd multiple, in the high bits but the first one. */
static uint32_t address_of(uint32_t number)
{
	return (uint32_t)(number * ${spread}U << (33 - prefix_bits)) >> 1;
}

static long touched(void)
{
	long all = entries < 200000 ? entries : 200000;

	return all;
}

static int set_up(void)
{
	actions = rte_zmalloc(NULL, (size_t)(entries + 1) * value_bytes, 64);
//@ if method == lpm
	struct rte_lpm_config config = { .max_rules = entries + 1, .number_tbl8s = 1 << 16 };

	table = rte_lpm_create("table", SOCKET_ID_ANY, &config);
//@ else
	struct rte_fib_conf config = {
		.type = RTE_FIB_DIR24_8,
		.default_nh = entries,
		.max_routes = entries + 1,
		.dir24_8 = { .nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = 1 << 16 },
	};

	table = rte_fib_create("table", SOCKET_ID_ANY, &config);
//@ end
	if (!table || !actions)
		return -1;
	for (uint32_t i = 0; i < entries; i++) {
		*(uint64_t *)(actions + (size_t)i * value_bytes) = 1;
//@ if method == lpm
		if (rte_lpm_add(table, address_of(i), prefix_bits, i))
			return -1;
//@ else
		if (rte_fib_add(table, address_of(i), prefix_bits, i))
			return -1;
//@ end
	}
	return 0;
}

static void tear_down(void)
{
//@ if method == lpm
	rte_lpm_free(table);
//@ else
	rte_fib_free(table);
//@ end
	rte_free(actions);
	table = NULL;
	actions = NULL;
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t number, address;

		memcpy(&number, next_packet(i) + KEY_OFFSET, sizeof(number));
		address = address_of(number);
//@ if not hit
		address |= 1U << 31;
//@ end
		sum += address;
		keep(sum);
		for (long again = 0; component && again < repeats; again++) {
//@ if method == lpm
			uint32_t found = entries;

			rte_lpm_lookup(table, address, &found);
//@ else
			uint64_t found;

			rte_fib_lookup_bulk(table, &address, &found, 1);
//@ end
			sum += *(uint64_t *)(actions + (size_t)found * value_bytes);
			keep(sum);
		}
	}
	return sum;
}
//@ include main.h
