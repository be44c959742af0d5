/* The kernel's helpers for XDP programs that run here, on tables as on NICs: buckets with a fixed
 * number of preallocated slots. Functions with the prefix `slowpath_xdp_` do not count as work of
 * the card. Sources: bpf-helpers(7), and the kernel's documentation of maps (Documentation/bpf). */
#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#define WORK __attribute__((noinline, used))
#define LOOP _Pragma("clang loop unroll(disable) vectorize(disable)")
#define DENIED (-13)
#define THERE (-17)
#define INVALID (-22)
#define NO_SPACE (-28)
#define NO_ENTRY (-2)
#define TOO_BIG (-7)
#define MOST_JUMPS 33
#define MOST_TURNS (1 << 23)

/* Map types, from macros that trace/xdp_sources.py defines. */
enum {
	HASH = BPF_MAP_TYPE_HASH,
	ARRAY = BPF_MAP_TYPE_ARRAY,
	LRU = BPF_MAP_TYPE_LRU_HASH,
	LPM = BPF_MAP_TYPE_LPM_TRIE,
	ARRAY_OF_MAPS = BPF_MAP_TYPE_ARRAY_OF_MAPS,
	HASH_OF_MAPS = BPF_MAP_TYPE_HASH_OF_MAPS,
	PORTS = BPF_MAP_TYPE_DEVMAP,
	QUEUE = BPF_MAP_TYPE_QUEUE,
	STACK = BPF_MAP_TYPE_STACK,
	BLOOM = BPF_MAP_TYPE_BLOOM_FILTER
};
enum { ANY, NEW, EXISTING, LOCKED = 4 };

/* Description of a map, written before the first packet (trace/xdp_maps.py). */
struct map {
	uint32_t kind, key_size, value_size, entries;
	uint32_t buckets, slots, stride, key_at, value_at; /* bloom filter: buckets are hashes */
	uint32_t used; /* used entries; for a trie, slots that were used at least once */
	unsigned char *data;
	uint64_t size;
	uint64_t head; /* slot for the next record of a ring or element of a queue */
	uint64_t found, missed; /* tail calls with a program; tail calls or lookups without a result */
};

/* The context of a program, and values that only the kernel knows. */
struct frame {
	uint32_t data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex;
	uint32_t low; /* lowest address for a header that the program adds */
	uint32_t room; /* bytes that the program may append */
};

struct {
	uint64_t refused, evicted;
} slowpath_xdp_totals;
uint64_t slowpath_xdp_now;
uint64_t slowpath_xdp_random = 0x9E3779B97F4A7C15;

static uint32_t hash_of(const unsigned char *key, uint32_t size)
{
	uint32_t hash = size, at, word;

	LOOP for (at = 0; at + 4 <= size; at += 4) {
		memcpy(&word, key + at, 4);
		hash = (hash ^ word) * 0x85ebca6b;
		hash ^= hash >> 13;
	}
	LOOP for (; at < size; at++) {
		hash = (hash ^ key[at]) * 0x85ebca6b;
		hash ^= hash >> 13;
	}
	return hash ^ hash >> 16;
}

static uint32_t *tag_of(const struct map *map, uint64_t slot)
{
	return (uint32_t *)(map->data + slot * map->stride);
}

/* Returns the slot of a key, or 0; `*free` is a free slot of its bucket, or 0. */
static uint32_t *find(const struct map *map, const void *key, uint32_t hash, uint32_t **free)
{
	uint64_t first = (uint64_t)(hash % map->buckets) * map->slots;
	uint32_t at, tag = hash | 1;

	*free = 0;
	LOOP for (at = 0; at < map->slots; at++) {
		uint32_t *slot = tag_of(map, first + at);

		if (*slot == tag && !memcmp((unsigned char *)slot + map->key_at, key, map->key_size))
			return slot;
		if (!*slot && !*free)
			*free = slot;
	}
	return 0;
}

/* Returns true if the first `bits` bits are equal. */
static int same(const unsigned char *one, const unsigned char *other, uint32_t bits)
{
	uint32_t at;

	LOOP for (at = 0; at < bits / 8; at++)
		if (one[at] != other[at])
			return 0;
	return !(bits % 8) || !((one[at] ^ other[at]) >> (8 - bits % 8));
}

static uint32_t length_of(const void *key)
{
	uint32_t bits;

	memcpy(&bits, key, 4);
	return bits;
}

/* Returns true if a prefix is longer than the addresses of the trie. */
static int too_long(const struct map *map, const void *key)
{
	return length_of(key) > 8 * (map->key_size - 4);
}

/* Returns the entry with exactly this prefix, and a free one; compares all entries. */
static uint32_t *find_prefix(const struct map *map, const unsigned char *key, uint32_t **free)
{
	uint32_t at, bits = length_of(key);

	*free = 0;
	LOOP for (at = 0; at < map->used; at++) {
		uint32_t *slot = tag_of(map, at);
		unsigned char *own = (unsigned char *)slot + map->key_at;

		if (!*slot) {
			if (!*free)
				*free = slot;
		} else if (length_of(own) == bits && same(own + 4, key + 4, bits)) {
			return slot;
		}
	}
	return 0;
}

static void *longest(const struct map *map, const unsigned char *key)
{
	uint32_t at, most = 0, bits = length_of(key);
	void *found = 0;

	if (too_long(map, key))
		return 0;
	LOOP for (at = 0; at < map->used; at++) {
		uint32_t *slot = tag_of(map, at);
		unsigned char *own = (unsigned char *)slot + map->key_at;
		uint32_t length;

		if (!*slot)
			continue;
		length = length_of(own);
		if (length <= bits && (!found || length > most) && same(own + 4, key + 4, length)) {
			most = length;
			found = (unsigned char *)slot + map->value_at;
		}
	}
	return found;
}

/* Returns the map in a slot of a map of maps. */
static struct map *held(const void *slot)
{
	struct map *map = 0;

	if (slot)
		memcpy(&map, slot, sizeof(map));
	return map;
}

/* Returns the entry of a device, CPU or socket number; 0 if the number has none. */
static void *port(const struct map *map, const void *key)
{
	uint32_t index;

	memcpy(&index, key, 4);
	if (!map->used || index >= map->entries || !*tag_of(map, index))
		return 0;
	return (unsigned char *)tag_of(map, index) + map->value_at;
}

__attribute__((noinline)) static void *slowpath_xdp_missed(struct map *map)
{
	map->missed++;
	return 0;
}

WORK void *bpf_map_lookup_elem(struct map *map, const void *key)
{
	uint32_t *slot, *free, index;
	void *found;

	if (map->kind == ARRAY) {
		memcpy(&index, key, 4);
		return index < map->entries ? map->data + (uint64_t)index * map->stride : 0;
	}
	if (map->kind == ARRAY_OF_MAPS) {
		memcpy(&index, key, 4);
		found = index < map->entries ? held(map->data + (uint64_t)index * map->stride) : 0;
		return found ? found : slowpath_xdp_missed(map);
	}
	if (map->kind == LPM || map->kind == PORTS) {
		found = map->kind == LPM ? longest(map, key) : port(map, key);
		return found ? found : slowpath_xdp_missed(map);
	}
	if (map->kind != HASH && map->kind != LRU && map->kind != HASH_OF_MAPS)
		return 0;
	slot = find(map, key, hash_of(key, map->key_size), &free);
	found = slot ? (unsigned char *)slot + map->value_at : 0;
	if (found && map->kind == HASH_OF_MAPS)
		found = held(found);
	return found ? found : slowpath_xdp_missed(map);
}

static long put(struct map *map, uint32_t *slot, uint32_t tag, const void *key, const void *value)
{
	*slot = tag;
	memcpy((unsigned char *)slot + map->key_at, key, map->key_size);
	memcpy((unsigned char *)slot + map->value_at, value, map->value_size);
	return 0;
}

static long put_prefix(struct map *map, const void *key, const void *value, uint64_t flags)
{
	uint32_t *free, *slot;

	if (too_long(map, key))
		return INVALID;
	slot = find_prefix(map, key, &free);
	if (slot && flags == NEW)
		return THERE;
	if (!slot && flags == EXISTING)
		return NO_ENTRY;
	if (!slot && !free && map->used < map->entries)
		free = tag_of(map, map->used++);
	if (!slot && !free) {
		slowpath_xdp_totals.refused++;
		return NO_SPACE;
	}
	return put(map, slot ? slot : free, 1, key, value);
}

WORK long bpf_map_update_elem(struct map *map, const void *key, const void *value, uint64_t flags)
{
	uint32_t *slot, *free, hash, index, at;

	flags &= ~(uint64_t)LOCKED;
	if (flags > EXISTING)
		return INVALID;
	if (map->kind == ARRAY) {
		memcpy(&index, key, 4);
		if (index >= map->entries)
			return TOO_BIG;
		if (flags == NEW)
			return THERE;
		memcpy(map->data + (uint64_t)index * map->stride, value, map->value_size);
		return 0;
	}
	if (map->kind == LPM)
		return put_prefix(map, key, value, flags);
	if (map->kind != HASH && map->kind != LRU && map->kind != HASH_OF_MAPS)
		return INVALID;
	hash = hash_of(key, map->key_size);
	slot = find(map, key, hash, &free);
	if (slot && flags == NEW)
		return THERE;
	if (!slot && flags == EXISTING)
		return NO_ENTRY;
	if (slot) {
		memcpy((unsigned char *)slot + map->value_at, value, map->value_size);
		return 0;
	}
	if (map->kind == LRU && (!free || map->used >= map->entries)) {
		/* Evicts the last used entry of the bucket. A map may reach its limit before all
		 * slots are used, if the limit is no multiple of a bucket. */
		slowpath_xdp_totals.evicted++;
		at = map->slots - 1;
		LOOP while (at && !*tag_of(map, (uint64_t)(hash % map->buckets) * map->slots + at))
			at--;
		free = tag_of(map, (uint64_t)(hash % map->buckets) * map->slots + at);
	} else if (!free || map->used >= map->entries) {
		slowpath_xdp_totals.refused++;
		return TOO_BIG;
	} else {
		map->used++;
	}
	return put(map, free, hash | 1, key, value);
}

WORK long bpf_map_delete_elem(struct map *map, const void *key)
{
	uint32_t *slot, *free;

	if (map->kind == LPM) {
		if (too_long(map, key))
			return INVALID;
		slot = find_prefix(map, key, &free);
	} else if (map->kind == HASH || map->kind == LRU) {
		slot = find(map, key, hash_of(key, map->key_size), &free);
		map->used -= slot != 0;
	} else {
		return INVALID;
	}
	if (!slot)
		return NO_ENTRY;
	*slot = 0;
	return 0;
}

WORK void *bpf_map_lookup_percpu_elem(struct map *map, const void *key, uint32_t cpu)
{
	return cpu ? 0 : bpf_map_lookup_elem(map, key);
}

static uint32_t turned(uint32_t word, int by) { return word << by | word >> (32 - by); }

/* The kernel's `jhash` (include/linux/jhash.h: Jenkins's lookup3), for little-endian words. */
static uint32_t jhash(const unsigned char *key, uint32_t size, uint32_t seed)
{
	uint32_t a, b, c, words[3];

	a = b = c = 0xdeadbeef + size + seed;
	LOOP for (; size > 12; size -= 12, key += 12) {
		memcpy(words, key, 12);
		a += words[0];
		b += words[1];
		c += words[2];
		a = (a - c) ^ turned(c, 4), c += b;
		b = (b - a) ^ turned(a, 6), a += c;
		c = (c - b) ^ turned(b, 8), b += a;
		a = (a - c) ^ turned(c, 16), c += b;
		b = (b - a) ^ turned(a, 19), a += c;
		c = (c - b) ^ turned(b, 4), b += a;
	}
	if (!size)
		return c;
	memset(words, 0, 12);
	memcpy(words, key, size);
	a += words[0];
	b += words[1];
	c += words[2];
	c = (c ^ b) - turned(b, 14);
	a = (a ^ c) - turned(c, 11);
	b = (b ^ a) - turned(a, 25);
	c = (c ^ b) - turned(b, 16);
	a = (a ^ c) - turned(c, 4);
	b = (b ^ a) - turned(a, 14);
	return (c ^ b) - turned(b, 24);
}

/* Returns the bit of a bloom filter for hash `number` of a value, as in a filter without a random
 * seed (`BPF_F_ZERO_SEED`; kernel/bpf/bloom_filter.c). */
static uint32_t bit_of(const struct map *map, const void *value, uint32_t number)
{
	return jhash(value, map->value_size, number) & (uint32_t)(map->size * 8 - 1);
}

static long mark(struct map *map, const void *value, uint64_t flags)
{
	uint32_t at, bit;

	if (flags)
		return INVALID;
	map->used = 1;
	LOOP for (at = 0; at < map->buckets; at++) {
		bit = bit_of(map, value, at);
		map->data[bit / 8] |= 1 << bit % 8;
	}
	return 0;
}

static long marked(struct map *map, const void *value)
{
	uint32_t at, bit;

	LOOP for (at = 0; at < map->buckets; at++) {
		bit = bit_of(map, value, at);
		if (!(map->data[bit / 8] >> bit % 8 & 1)) {
			slowpath_xdp_missed(map);
			return NO_ENTRY;
		}
	}
	return 0;
}

/* Returns the element that the queue or stack returns next; 0 if it is empty. */
static unsigned char *front(const struct map *map)
{
	uint64_t back = map->kind == STACK ? 1 : map->used;

	if (!map->used || (map->kind != QUEUE && map->kind != STACK))
		return 0;
	return map->data + (map->head + map->entries - back) % map->entries * map->stride;
}

WORK long bpf_map_push_elem(struct map *map, const void *value, uint64_t flags)
{
	if (map->kind == BLOOM)
		return mark(map, value, flags);
	if ((map->kind != QUEUE && map->kind != STACK) || flags & ~(uint64_t)EXISTING)
		return INVALID;
	if (map->used == map->entries && flags != EXISTING)
		return TOO_BIG;
	/* In a full queue, this slot has the oldest element. */
	memcpy(map->data + map->head * map->stride, value, map->value_size);
	map->head = (map->head + 1) % map->entries;
	map->used += map->used < map->entries;
	return 0;
}

WORK long bpf_map_peek_elem(struct map *map, void *value)
{
	const unsigned char *from;

	if (map->kind == BLOOM)
		return marked(map, value);
	from = front(map);
	if (!from) {
		memset(value, 0, map->value_size);
		return NO_ENTRY;
	}
	memcpy(value, from, map->value_size);
	return 0;
}

WORK long bpf_map_pop_elem(struct map *map, void *value)
{
	const unsigned char *from = front(map);

	if (!from) {
		memset(value, 0, map->value_size);
		return NO_ENTRY;
	}
	memcpy(value, from, map->value_size);
	map->used--;
	if (map->kind == STACK)
		map->head = (map->head + map->entries - 1) % map->entries;
	return 0;
}

/* Callbacks return 0 to continue or 1 to stop; the verifier rejects other values. */
WORK long bpf_loop(uint32_t turns, int (*turn)(uint64_t, void *), void *context, uint64_t flags)
{
	uint32_t at;

	if (flags)
		return INVALID;
	if (turns > MOST_TURNS)
		return TOO_BIG;
	LOOP for (at = 0; at < turns; at++)
		if (turn(at, context))
			return at + 1;
	return at;
}

/* `struct bpf_iter_num` of the kernel (kernel/bpf/bpf_iter.c). */
struct numbers {
	int now, end;
};

WORK int bpf_iter_num_new(struct numbers *all, int start, int end)
{
	all->now = all->end = 0;
	if (start > end)
		return INVALID;
	if ((int64_t)end - start > MOST_TURNS)
		return TOO_BIG;
	all->now = start - 1u;
	all->end = end;
	return 0;
}

WORK int *bpf_iter_num_next(struct numbers *all)
{
	if ((int)(all->now + 1u) >= all->end) {
		all->now = all->end = 0;
		return 0;
	}
	all->now++;
	return &all->now;
}

WORK void bpf_iter_num_destroy(struct numbers *all) { all->now = all->end = 0; }

WORK long bpf_for_each_map_elem(struct map *map,
				int (*visit)(struct map *, const void *, void *, void *),
				void *context, uint64_t flags)
{
	uint64_t at, slots = (uint64_t)map->buckets * map->slots;
	long visited = 0;

	if (flags || (map->kind != HASH && map->kind != LRU && map->kind != ARRAY))
		return INVALID;
	LOOP for (at = 0; at < slots; at++) {
		uint32_t index = at, *slot = tag_of(map, at);
		const void *key = &index;

		if (map->kind != ARRAY) {
			if (!*slot)
				continue;
			key = (unsigned char *)slot + map->key_at;
		}
		visited++;
		if (visit(map, key, (unsigned char *)slot + map->value_at, context))
			break;
	}
	return visited;
}

/* Returns the start of a record. The ring always has room, because its reader is assumed to keep
 * up. */
WORK void *bpf_ringbuf_reserve(struct map *ring, uint64_t size, uint64_t flags)
{
	uint64_t at;

	if (flags || size + 8 > ring->size)
		return 0;
	if (ring->head + size + 8 > ring->size)
		ring->head = 0;
	at = ring->head;
	ring->head += (size + 8 + 7) / 8 * 8;
	return ring->data + at + 8;
}

WORK long bpf_ringbuf_output(struct map *ring, const void *data, uint64_t size, uint64_t flags)
{
	void *to = bpf_ringbuf_reserve(ring, size, 0);

	if (!to)
		return -11;
	memcpy(to, data, size);
	return 0;
}

WORK void bpf_ringbuf_submit(void *data, uint64_t flags) {}
WORK void bpf_ringbuf_discard(void *data, uint64_t flags) {}
WORK uint64_t bpf_ringbuf_query(struct map *ring, uint64_t flags)
{
	return flags == 1 ? ring->size : 0;
}
WORK long bpf_perf_event_output(void *context, struct map *map, uint64_t flags, void *data)
{
	return 0;
}
WORK long bpf_trace_printk(const char *format, uint32_t size) { return 0; }
WORK long bpf_trace_vprintk(const char *format, uint32_t size) { return 0; }
WORK void bpf_spin_lock(void *lock) {}
WORK void bpf_spin_unlock(void *lock) {}

WORK uint64_t bpf_ktime_get_ns(void) { return slowpath_xdp_now; }
WORK uint64_t bpf_ktime_get_boot_ns(void) { return slowpath_xdp_now; }
WORK uint64_t bpf_ktime_get_coarse_ns(void) { return slowpath_xdp_now; }
WORK uint64_t bpf_ktime_get_tai_ns(void) { return slowpath_xdp_now; }
WORK uint64_t bpf_jiffies64(void) { return slowpath_xdp_now / 4000000; }
WORK uint32_t bpf_get_smp_processor_id(void) { return 0; }
WORK long bpf_get_numa_node_id(void) { return 0; }
WORK uint32_t bpf_get_prandom_u32(void)
{
	/* xorshift64* (Vigna, 2016) */
	slowpath_xdp_random ^= slowpath_xdp_random >> 12;
	slowpath_xdp_random ^= slowpath_xdp_random << 25;
	slowpath_xdp_random ^= slowpath_xdp_random >> 27;
	return (slowpath_xdp_random * 0x2545F4914F6CDD1D) >> 32;
}

WORK long bpf_redirect(uint32_t device, uint64_t flags) { return flags ? 0 : 4; }
WORK long bpf_redirect_map(struct map *map, uint32_t key, uint64_t flags)
{
	if (flags & ~(uint64_t)(3 | 8 | 16))
		return 0;
	return flags & 8 || bpf_map_lookup_elem(map, &key) ? 4 : flags & 3;
}

/* Returns the difference of two sums, folded to 16 bits as in kernels since 6.13. */
WORK int64_t bpf_csum_diff(const void *from, uint32_t before, const void *to, uint32_t after,
			   uint32_t seed)
{
	uint64_t sum = seed;
	uint32_t at, word;

	if ((before | after) & 3)
		return INVALID;
	LOOP for (at = 0; at < before; at += 4) {
		memcpy(&word, (const char *)from + at, 4);
		sum += (uint32_t)~word;
	}
	LOOP for (at = 0; at < after; at += 4) {
		memcpy(&word, (const char *)to + at, 4);
		sum += word;
	}
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

static void *bytes(uint32_t address) { return (void *)(uintptr_t)address; }

/* Moves the packet instead of its end, because memory behind the end is protected. */
__attribute__((noinline)) static void slowpath_xdp_move(struct frame *frame, int by)
{
	uint32_t size = frame->data_end - frame->data_meta - (by < 0 ? -by : 0);

	memmove(bytes(frame->data_meta - by), bytes(frame->data_meta), size);
	frame->data -= by;
	frame->data_meta -= by;
	frame->low -= by;
	frame->room -= by;
	if (by > 0)
		memset(bytes(frame->data_end - by), 0, by);
}

__attribute__((noinline)) static void slowpath_xdp_shift(struct frame *frame, int by)
{
	memmove(bytes(frame->data_meta + by), bytes(frame->data_meta), frame->data - frame->data_meta);
}

WORK long bpf_xdp_adjust_tail(struct frame *frame, int by)
{
	if (by > (int)frame->room || (int64_t)frame->data_end + by < (int64_t)frame->data + 14)
		return INVALID;
	slowpath_xdp_move(frame, by);
	return 0;
}

WORK long bpf_xdp_adjust_head(struct frame *frame, int by)
{
	int64_t data = (int64_t)frame->data + by;

	if (data < (int64_t)frame->low + (frame->data - frame->data_meta) ||
	    data > (int64_t)frame->data_end - 14)
		return INVALID;
	if (frame->data != frame->data_meta)
		slowpath_xdp_shift(frame, by);
	frame->data_meta += by;
	frame->data = data;
	return 0;
}

WORK long bpf_xdp_adjust_meta(struct frame *frame, int by)
{
	int64_t meta = (int64_t)frame->data_meta + by;

	if (meta < frame->low || meta > frame->data)
		return INVALID;
	if (((frame->data - meta) & 3) || frame->data - meta > 252)
		return DENIED;
	frame->data_meta = meta;
	return 0;
}

WORK uint64_t bpf_xdp_get_buff_len(struct frame *frame) { return frame->data_end - frame->data; }

WORK long bpf_xdp_load_bytes(struct frame *frame, uint32_t at, void *to, uint32_t size)
{
	if ((uint64_t)at + size > frame->data_end - frame->data)
		return INVALID;
	memcpy(to, bytes(frame->data + at), size);
	return 0;
}

WORK long bpf_xdp_store_bytes(struct frame *frame, uint32_t at, const void *from, uint32_t size)
{
	if ((uint64_t)at + size > frame->data_end - frame->data)
		return INVALID;
	memcpy(bytes(frame->data + at), from, size);
	return 0;
}

typedef int program(struct frame *frame);

/* `_setjmp` and `longjmp`, which sources may not call (native.py). */
__attribute__((returns_twice)) int slowpath_xdp_mark(jmp_buf here);
__attribute__((noreturn)) void slowpath_xdp_return(jmp_buf there, int result);

/* Where execution continues after a program that replaced another program, or a function. */
struct back {
	jmp_buf here;
	struct back *before;
};
_Static_assert(sizeof(struct back) <= 1024, "trace/xdp_sources.py makes more room");

static struct back *slowpath_xdp_back;
static struct frame *slowpath_xdp_frame;
static program *volatile slowpath_xdp_next; /* volatile: read again after each jump */
static uint32_t slowpath_xdp_jumps;

/* Called before and after a function with tail calls (trace/xdp_sources.py). */
__attribute__((used)) void slowpath_xdp_enter(struct back *back)
{
	back->before = slowpath_xdp_back;
	slowpath_xdp_back = back;
}

__attribute__((used)) void slowpath_xdp_leave(struct back *back) { slowpath_xdp_back = back->before; }

/* Runs the target of the last tail call. */
__attribute__((used)) int slowpath_xdp_follow(void) { return slowpath_xdp_next(slowpath_xdp_frame); }

/* Runs a program, then the targets of its tail calls, each with an empty stack. */
__attribute__((used)) int slowpath_xdp_run(program *first, struct frame *frame)
{
	struct back back = {.before = 0};

	slowpath_xdp_next = first;
	slowpath_xdp_frame = frame;
	slowpath_xdp_jumps = 0;
	slowpath_xdp_back = &back;
	slowpath_xdp_mark(back.here);
	return slowpath_xdp_follow();
}

__attribute__((noinline, noreturn)) static void slowpath_xdp_jump(struct map *map, program *to)
{
	map->found++;
	slowpath_xdp_next = to;
	slowpath_xdp_jumps++;
	slowpath_xdp_return(slowpath_xdp_back->here, 1);
}

/* Continues after the call if the slot has no program. */
WORK long bpf_tail_call(struct frame *frame, struct map *map, uint32_t index)
{
	program *to = 0;

	if (slowpath_xdp_jumps >= MOST_JUMPS)
		return NO_ENTRY;
	if (index < map->entries)
		memcpy(&to, map->data + (uint64_t)index * map->stride, sizeof(to));
	if (to)
		slowpath_xdp_jump(map, to);
	slowpath_xdp_missed(map);
	return NO_ENTRY;
}

/* Inserts a new entry into a trie, or a port at its number, before the first packet; it does not
 * search for an existing entry. */
__attribute__((used)) long slowpath_xdp_add(struct map *map, const void *key, const void *value)
{
	uint32_t at = map->used;

	if (map->kind == PORTS)
		memcpy(&at, key, 4);
	else if (too_long(map, key))
		return INVALID;
	if (at >= map->entries)
		return TOO_BIG;
	map->used++;
	return put(map, tag_of(map, at), 1, key, value);
}
