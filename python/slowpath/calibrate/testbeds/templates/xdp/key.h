
struct key {
	__u32 word[${key_words}];
};

/* Reads the key of a packet, which starts at byte ${key_offset}. */
static __inline void read_key(struct key *key, void *data)
{
	volatile __u32 *from = data + ${key_offset};

//@ if vary
	key->word[0] = draw();
//@ else
	key->word[0] = from[0];
//@ end
//@ repeat other_words as i
	key->word[1 + ${i}] = from[1 + ${i}];
//@ end
//@ if not hit
	key->word[0] |= 1U << 31; /* no entry has this bit */
//@ end
}
