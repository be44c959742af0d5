//@ include head.h
//@ include packets.h

enum { LINE = 64 };
static uint8_t *lines;
static void *at;

static long touched(void)
{
	long all = bytes / LINE < 400000 ? bytes / LINE : 400000;

	return all;
}

/* Links all cache lines into a circle in random order (Sattolo's algorithm). */
static int set_up(void)
{
	long count = bytes / LINE;
	uint32_t *order = malloc(count * sizeof(order[0])), state = 1;

	lines = rte_malloc(NULL, bytes, LINE);
	if (!lines || !order) {
		free(order);
		return -1;
	}
	for (long i = 0; i < count; i++)
		order[i] = i;
	for (long i = count - 1; i > 0; i--) {
		state = state * 1664525 + 1013904223;
		long other = (uint64_t)state * i >> 32;
		uint32_t kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
	for (long i = 0; i < count; i++)
		*(void **)(lines + (size_t)i * LINE) = lines + (size_t)order[i] * LINE;
	free(order);
	at = lines;
	return 0;
}

static void tear_down(void)
{
	rte_free(lines);
	lines = NULL;
}

static inline uint64_t run(uint32_t count, int component)
{
	uint64_t sum = 0;
	void *next = at;

	for (uint32_t i = 0; i < count; i++) {
		if (component)
			next = *(void **)next;
		sum += (uintptr_t)next;
		keep(sum);
		keep(next);
	}
	at = next;
	return sum;
}
//@ include main.h
