//@ include head.h

#include <rte_byteorder.h>
//@ include packets.h

enum { TABLES = 32 };
//@ if key_bytes == 16
/* Tables for bits after the first 24; each prefix may need its own. */
#define TBL8S (16 + (prefix_bits > 24 ? (prefix_bits - 17) / 8 * entries : 0))
//@ if method == lpm
//@ include lpm6.h
//@ else
//@ include fib6.h
//@ end
//@ else
//@ if method == lpm
//@ include lpm.h
//@ else
//@ include fib.h
//@ end
//@ end

static uint8_t *actions[TABLES];
//@ if key_bytes == 16

/* Writes an odd multiple of the number, which spreads prefixes, into their last 32 bits, except the
 * first bit of the address. Other bytes are those of the packet. */
static inline struct address address_of(uint32_t number, const uint8_t *others)
{
	uint32_t front = prefix_bits > 32 ? (prefix_bits - 25) / 8 : 0;
	uint32_t own_bits = prefix_bits - 8 * front;
	uint32_t spread = rte_cpu_to_be_32((uint32_t)(number * ${spread}U << (33 - own_bits)) >> 1);
	struct address address;

	memcpy(address.byte, others, front);
	memcpy(address.byte + front, &spread, 4);
	memcpy(address.byte + front + 4, others + front, 12 - front);
	address.byte[0] &= 0x7f;
	return address;
}

/* Sets a bit that no entry has. */
static inline void miss(struct address *address)
{
	address->byte[0] |= 0x80;
}
//@ else

/* Returns an odd multiple of the number, which spreads prefixes, in all bits but the first. */
static inline struct address address_of(uint32_t number, const uint8_t *others)
{
	struct address address = { (uint32_t)(number * ${spread}U << (33 - prefix_bits)) >> 1 };

	(void)others;
	return address;
}

/* Sets a bit that no entry has. */
static inline void miss(struct address *address)
{
	address->number |= 1U << 31;
}
//@ end

static long touched(void)
{
	long all = entries < 200000 ? entries : 200000;

	return all;
}

/* Checks that look-ups find each entry, and no other. */
static int check_look_ups(long t, const uint8_t *others)
{
	struct address address = address_of(0, others);

	miss(&address);
	if (look_up(t, &address) != entries)
		return refuse("table %ld: an address is found that is not there", t);
	for (uint32_t i = 0; i < entries; i++) {
		address = address_of(i, others);
		if (look_up(t, &address) != i)
			return refuse("table %ld: prefix %u is not found", t, i);
	}
	return 0;
}

static int set_up(void)
{
	const uint8_t *others = packets + KEY_OFFSET + 4;

	for (long t = 0; t < tables; t++) {
		char name[16];

		snprintf(name, sizeof(name), "table%ld", t);
		actions[t] = rte_zmalloc(NULL, (size_t)(entries + 1) * value_bytes, 64);
		if (create(t, name) || !actions[t])
			return -1;
		for (uint32_t i = 0; i < entries; i++) {
			int status = add(t, address_of(i, others), i);

			*(uint64_t *)(actions[t] + (size_t)i * value_bytes) = 1;
			if (status)
				return refuse("prefix %u cannot be added: %s", i, strerror(-status));
		}
		if (check_look_ups(t, others))
			return -1;
	}
	return 0;
}

static void tear_down(void)
{
	for (int t = 0; t < TABLES; t++) {
		destroy(t);
		rte_free(actions[t]);
		actions[t] = NULL;
	}
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		const uint8_t *key = next_packet(i) + KEY_OFFSET;
		struct address address;
		uint32_t number;

		memcpy(&number, key, sizeof(number));
		address = address_of(number, key + 4);
//@ if not hit
		miss(&address);
//@ end
//@ if key_bytes == 16
		asm volatile("" : "+m"(address));
//@ else
		keep(address.number);
//@ end
		for (long t = 0; component && t < tables; t++) {
			for (long again = 0; again < repeats; again++) {
				uint32_t found = look_up(t, &address);

				sum += *(uint64_t *)(actions[t] + (size_t)found * value_bytes);
				keep(sum);
			}
		}
	}
	return sum;
}
//@ include main.h
