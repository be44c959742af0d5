//@ include head.h
//@ include packets.h

static uint8_t *elements;

static long touched(void)
{
	long all = entries < 200000 ? entries : 200000;

	return all;
}

static int set_up(void)
{
	elements = rte_malloc(NULL, (size_t)entries * value_bytes, 64);
	if (elements)
		memset(elements, 1, (size_t)entries * value_bytes);
	return elements ? 0 : -1;
}

static void tear_down(void)
{
	rte_free(elements);
	elements = NULL;
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t at;

		memcpy(&at, next_packet(i) + KEY_OFFSET, sizeof(at));
		sum += at;
		keep(sum);
		for (long again = 0; component && again < repeats; again++) {
			sum += *(uint64_t *)(elements + (size_t)at * value_bytes);
			keep(sum);
		}
	}
	return sum;
}
//@ include main.h
