/* Functions of which more could be said than is worth it: short ones, one that does little beside what is proved; and
 * some that cannot be run. */
#include <stdarg.h>
#include <stdint.h>

static uint32_t flows[64], rows;

struct key {
	uint32_t src, dst;
	uint16_t sport, dport;
};
struct numbers {
	double weight;
	uint32_t all[8];
};

static uint32_t crc32(const uint8_t *data, uint32_t length)
{
	uint32_t crc = 0xffffffff, bit;

	while (length--)
		for (crc ^= *data++, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	return ~crc;
}

static uint32_t short_code(const struct key *key)
{
	return key->src ^ key->dst ^ ((uint32_t)key->sport << 16 | key->dport);
}

static uint32_t parities(const uint8_t *page, uint32_t length)
{
	uint32_t found = 0, at;
	uint8_t columns = 0, ones;

	for (at = 0; at < length; at++) {
		ones = page[at];
		columns ^= ones;
		ones ^= ones >> 4, ones ^= ones >> 2, ones ^= ones >> 1;
		if (ones & 1)
			found ^= at;
	}
	return found << 8 | columns;
}

static uint32_t parities_and_sum(const uint8_t *page)
{
	uint32_t found = 0, at;
	uint8_t columns = 0, ones;

	for (at = 0; at < 2; at++) {
		ones = page[at];
		columns ^= ones;
		ones ^= ones >> 4, ones ^= ones >> 2, ones ^= ones >> 1;
		if (ones & 1)
			found ^= at;
	}
	return (found << 8 | columns) + crc32(page, 30);
}

static uint32_t any(int count, ...)
{
	uint32_t hash = 5381;
	va_list list;

	va_start(list, count);
	while (count--)
		hash = hash * 33 + (va_arg(list, uint32_t) >> 3);
	va_end(list);
	return hash;
}

static uint32_t by_value(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e, uint32_t f, uint32_t g, uint32_t h,
			 uint32_t i)
{
	uint32_t at, found = 0;

	for (at = 0; at < a; at++)
		found += found * 2 + b + c + d + e + f + g + h + i;
	return found;
}

static uint32_t odd(uint32_t number);
static uint32_t even(uint32_t number) { return number ? 3 * odd(number - 1) : 1; }
static uint32_t odd(uint32_t number) { return number ? 5 * even(number - 1) + 1 : 0; }

static uint32_t byte_by_instruction(uint32_t crc, uint8_t byte)
{
	__asm__("crc32b %1, %0" : "+r"(crc) : "rm"(byte));
	return crc;
}

uint32_t rest(const uint8_t *data)
{
	return any(2, data[0], data[1]) + by_value(data[0], 1, 2, 3, 4, 5, 6, 7, 8) + odd(data[2]) +
	       byte_by_instruction(7, data[3]);
}

int process(const uint8_t *data, uint32_t length)
{
	struct key key;

	if (length < 38)
		return 0;
	key.src = data[26];
	key.dst = data[30];
	key.sport = data[34];
	key.dport = data[36];
	flows[short_code(&key) % 64]++;
	rows += parities(data, 38);
	return (rows ^ parities_and_sum(data)) & 1;
}
