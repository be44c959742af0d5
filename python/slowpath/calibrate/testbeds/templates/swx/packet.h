
enum {
	LONGEST = 16384,
	PATH = 4096,
	KEY_OFFSET = ${key_offset},
};

static const char *folder; /* folder with pipelines and packets */
static uint8_t *arriving;  /* content of an arriving packet */
static long length;	   /* number of its bytes */
//@ include ../dpdk/draw.h

/* Returns the number of key bytes before the bytes that vary. */
static inline uint32_t front_of_key(void)
{
//@ if kind == table-lpm
	return prefix_bits > 32 ? (prefix_bits - 25) / 8 : 0;
//@ else
	return 0;
//@ end
}
//@ if kind == table-lpm

/* Writes an odd multiple of the number, which spreads prefixes, into their last 32 bits; the first
 * bit of the address stays 0. */
static inline void write_number(uint8_t *address, uint32_t number)
{
	uint32_t front = front_of_key();
	uint32_t own_bits = prefix_bits - 8 * front;
	uint32_t spread = rte_cpu_to_be_32((uint32_t)(number * ${spread}U << (33 - own_bits)) >> 1);

	memcpy(address + front, &spread, sizeof(spread));
	address[0] &= 0x7f;
}
//@ end

//@ if vary
/* Writes the key of a packet. */
static inline void write_key(uint8_t *key, uint32_t number)
{
//@ if kind == table-lpm
	write_number(key, number);
//@ if not hit
	key[0] |= 0x80; /* no entry has this bit */
//@ end
//@ else
//@ if kind == table-exact
//@ if not hit
	number |= 1U << 31; /* no entry has this bit */
//@ end
//@ end
//@ if indexed
	number = rte_cpu_to_be_32(number);
//@ end
	memcpy(key, &number, sizeof(number));
//@ end
}
//@ end

static void path_of(char *path, const char *what)
{
	snprintf(path, PATH, "%s/${swept}-%ld.%s", folder, (long)${swept}, what);
}

/* Reads a packet in hexadecimal digits from a file. Returns NULL after an error (`refuse`). */
static uint8_t *read_packet(const char *path, long *found)
{
	FILE *file = fopen(path, "r");
	uint8_t *packet = calloc(1, LONGEST);
	unsigned int byte;

	if (!file || !packet) {
		refuse("%s: %s", path, strerror(errno));
		free(packet);
		if (file)
			fclose(file);
		return NULL;
	}
	for (*found = 0; *found < LONGEST && fscanf(file, "%2x", &byte) == 1; ++*found)
		packet[*found] = byte;
	fclose(file);
	return packet;
}

/* Compares a packet with the expected one, except for the bytes that vary. */
static int check_packet(const uint8_t *found, long found_length, const uint8_t *expected,
			long expected_length)
{
//@ if vary
	long varied = KEY_OFFSET + front_of_key();
//@ end

	if (found_length != expected_length)
		return refuse("packets of %ld bytes came out, not of %ld", found_length,
			      expected_length);
	for (long i = 0; i < expected_length; i++) {
//@ if vary
		if (i >= varied && i < varied + 4)
			continue;
//@ end
		if (found[i] != expected[i])
			return refuse("byte %ld of packets is 0x%02x, not 0x%02x", i, found[i],
				      expected[i]);
	}
	return 0;
}
