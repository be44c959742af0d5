
//@ if vary
/* Returns one of ${values} values for this packet, as a load generator chooses it. */
__u32 drawn;

static __inline __u32 draw(void)
{
	__u32 values = ${values};

	forget(values);
//@ if how == random
	drawn = drawn * 1664525 + 1013904223; /* a linear congruential generator */
	return (__u64)drawn * values >> 32;
//@ else
	return drawn++ % values;
//@ end
}
//@ end
