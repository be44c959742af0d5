//@ if vary

static uint32_t drawn = 1;

/* Returns the number of the entry that the next packet looks up. */
static inline uint32_t draw(void)
{
//@ if how == random
	drawn = drawn * 1664525 + 1013904223; /* a linear congruential generator */
	return (uint64_t)drawn * (uint32_t)(${values}) >> 32;
//@ else
	return drawn++ % (uint32_t)(${values});
//@ end
}
//@ end
