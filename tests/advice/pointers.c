/* Functions that only pointers lead to: in a table that is constant, in members and
 * elements that are set later, in a variable, and given from outside. */
#include <stdint.h>

struct ops {
	uint32_t (*hash)(const uint8_t *data, uint32_t length);
	uint16_t (*sum)(const uint8_t *data, uint32_t length);
};

static uint32_t sdbm(const uint8_t *data, uint32_t length)
{
	uint32_t hash = 0, at;

	for (at = 0; at < length; at++)
		hash = data[at] + (hash << 6) + (hash << 16) - hash;
	return hash;
}

static uint32_t castagnoli(const uint8_t *data, uint32_t length)
{
	uint32_t crc = 0xffffffff, bit;

	while (length--)
		for (crc ^= *data++, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	return ~crc;
}

static uint16_t internet(const uint8_t *data, uint32_t length)
{
	uint32_t total = 0, at;

	for (at = 0; at + 1 < length; at += 2)
		total += (uint32_t)data[at] << 8 | data[at + 1];
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return (uint16_t)~total;
}

static uint32_t koopman(const uint8_t *data, uint32_t length)
{
	uint32_t crc = 0xffffffff, bit;

	while (length--)
		for (crc ^= *data++, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xeb31d82e : 0);
	return ~crc;
}

static uint16_t arc(const uint8_t *data, uint32_t length)
{
	uint32_t crc = 0, bit;

	while (length--)
		for (crc ^= *data++, bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xa001 : 0);
	return (uint16_t)crc;
}

static const struct ops plain = {.hash = sdbm, .sum = internet};
static const struct ops checked = {.hash = castagnoli, .sum = internet};
static const struct ops *ops = &plain;
static struct ops later;
static uint32_t (*codes[4])(const uint8_t *data, uint32_t length);
static uint64_t seen[64], odd;
void (*watch)(uint64_t number, const uint8_t *data, int good);

void choose(int which)
{
	ops = which == 1 ? &checked : &plain;
}

void prepare(int which)
{
	later = plain;
	later.sum = arc;
	codes[which & 1] = later.hash;
	codes[2] = koopman;
}

int process(const uint8_t *data, uint32_t length)
{
	int good;

	if (length < 34)
		return 0;
	good = ops->sum(data + 14, 20) == 0;
	odd += !good;
	seen[ops->hash(data + 26, 8) % 64]++;
	if (later.sum)
		odd += later.sum(data + 14, 20) + codes[data[0] & 3](data, 14);
	if (watch)
		watch(odd, data, good);
	return good;
}
