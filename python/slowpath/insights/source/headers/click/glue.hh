// Basics for all headers: integers, byte order, hashes, and counters of the run.
#ifndef SLOWPATH_CLICK_GLUE_HH
#define SLOWPATH_CLICK_GLUE_HH
#include <click/config.h>
#include <arpa/inet.h>
#include <ctype.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <clicknet/ip.h>
#if __has_include(<new>)
#include <new>
#else
inline void *operator new(size_t, void *at) noexcept { return at; }
#endif

// Accessors are inlined, as on a card; tables and lists are separate functions.
#define SLOWPATH_INLINE inline __attribute__((always_inline))
#define SLOWPATH_KEPT __attribute__((noinline))
#define SLOWPATH_LOOP _Pragma("clang loop unroll(disable)")
#define SLOWPATH_ONE __attribute__((weak, used))

// Macros, because glibc's versions are functions, which would count as calls.
#undef ntohl
#undef ntohs
#undef htonl
#undef htons
#define ntohl(x) ((uint32_t) __builtin_bswap32((uint32_t) (x)))
#define ntohs(x) ((uint16_t) __builtin_bswap16((uint16_t) (x)))
#define htonl(x) ntohl(x)
#define htons(x) ntohs(x)

// This machine is little-endian.
#define le16_to_cpu(x) ((uint16_t) (x))
#define cpu_to_le16(x) ((uint16_t) (x))
#define le32_to_cpu(x) ((uint32_t) (x))
#define cpu_to_le32(x) ((uint32_t) (x))
#define ntohq(x) __builtin_bswap64((uint64_t) (x))
#define htonq(x) ntohq(x)
#define ntohll(x) ntohq(x)
#define htonll(x) ntohq(x)

#undef assert
#define assert(x) ((x) ? (void) 0 : __builtin_trap())
#define static_assert_click(x) static_assert(x, #x)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define ignore_result(x) ((void) (x))
#define likely(x) __builtin_expect(!!(x), 1)

#define SLOWPATH_PORTS 64

struct slowpath_click_counts {
    uint64_t pushed[SLOWPATH_PORTS];
    uint64_t killed;
    uint64_t made;     // packets that the element created
    uint64_t refused;  // entries that found no free slot
    uint64_t evicted;  // entries that lost their slot to others
    uint64_t unmade;   // packets that could not be created for lack of a buffer
    const char *said;  // first error of configure() and initialize()
};
extern "C" SLOWPATH_ONE struct slowpath_click_counts slowpath_click_totals = {};
extern "C" SLOWPATH_ONE uint64_t slowpath_click_now = 0;  // nanoseconds since 1970
extern "C" SLOWPATH_ONE uint32_t slowpath_click_seed = 1;

// Undefined functions whose calls end the run; slowpath has a message for each.
extern "C" void slowpath_click_vector_is_full(void) __attribute__((noreturn));
extern "C" void slowpath_click_text_is_too_long(void) __attribute__((noreturn));
extern "C" void slowpath_click_router_is_full(void) __attribute__((noreturn));
extern "C" void slowpath_click_buffer_is_full(void) __attribute__((noreturn));
extern "C" void slowpath_click_no_such_output(void) __attribute__((noreturn));

typedef size_t hashcode_t;

SLOWPATH_INLINE hashcode_t hashcode(char x) { return x; }
SLOWPATH_INLINE hashcode_t hashcode(signed char x) { return x; }
SLOWPATH_INLINE hashcode_t hashcode(unsigned char x) { return x; }
SLOWPATH_INLINE hashcode_t hashcode(short x) { return x; }
SLOWPATH_INLINE hashcode_t hashcode(unsigned short x) { return x; }
SLOWPATH_INLINE hashcode_t hashcode(int x) { return x; }
SLOWPATH_INLINE hashcode_t hashcode(unsigned x) { return x; }
SLOWPATH_INLINE hashcode_t hashcode(long x) { return x ^ (unsigned long) x >> 32; }
SLOWPATH_INLINE hashcode_t hashcode(unsigned long x) { return x ^ x >> 32; }
SLOWPATH_INLINE hashcode_t hashcode(long long x) { return x ^ (unsigned long long) x >> 32; }
SLOWPATH_INLINE hashcode_t hashcode(unsigned long long x) { return x ^ x >> 32; }
template <class T> SLOWPATH_INLINE hashcode_t hashcode(const T &x) { return x.hashcode(); }

template <class T> SLOWPATH_INLINE const T &click_min(const T &a, const T &b) {
    return b < a ? b : a;
}
template <class T> SLOWPATH_INLINE const T &click_max(const T &a, const T &b) {
    return a < b ? b : a;
}
template <class T> SLOWPATH_INLINE void click_swap(T &a, T &b) {
    T kept = a;
    a = b;
    b = kept;
}

// Returns the same pseudo-random numbers in each run.
SLOWPATH_KEPT inline uint32_t click_random() {
    uint32_t x = slowpath_click_seed;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    slowpath_click_seed = x;
    return x >> 1;
}
SLOWPATH_INLINE uint32_t click_random(uint32_t low, uint32_t high) {
    return low + click_random() % (high - low + 1);
}
#define CLICK_RAND_MAX 0x7fffffffu
SLOWPATH_INLINE void click_srandom(uint32_t seed) { slowpath_click_seed = seed ? seed : 1; }

typedef uint32_t click_jiffies_t;
#define CLICK_HZ 1000
SLOWPATH_INLINE click_jiffies_t click_jiffies() { return slowpath_click_now / 1000000; }
SLOWPATH_INLINE bool click_jiffies_less(click_jiffies_t x, click_jiffies_t y) {
    return (int32_t) (x - y) < 0;
}
typedef int64_t click_intmax_t;
typedef uint64_t click_uintmax_t;
typedef int64_t click_int_large_t;
typedef uint64_t click_uint_large_t;
typedef uint64_t click_cycles_t;
SLOWPATH_INLINE click_cycles_t click_get_cycles() { return slowpath_click_now; }

// A run has one core.
#define CLICK_CPU_MAX 1
typedef int click_processor_t;
SLOWPATH_INLINE click_processor_t click_current_cpu_id() { return 0; }
SLOWPATH_INLINE click_processor_t click_get_processor() { return 0; }
SLOWPATH_INLINE void click_put_processor() {}
SLOWPATH_INLINE unsigned click_max_cpu_ids() { return 1; }
SLOWPATH_INLINE void click_compiler_fence() {}

#define CLICK_LALLOC(size) malloc(size)
#define CLICK_LFREE(at, size) ((void) (size), free((void *) (at)))

// Like qsort() of the C library, with an additional argument for the comparison.
typedef int (*slowpath_click_order)(const void *, const void *, void *);
SLOWPATH_KEPT inline int click_qsort(void *base, size_t count, size_t size,
                                     slowpath_click_order order, void *thunk = 0) {
    unsigned char *bytes = (unsigned char *) base;
    for (size_t at = 1; at < count; at++)  // insertion sort: arrays are short and sorted once
        for (size_t to = at; to > 0; to--) {
            unsigned char *one = bytes + to * size;
            if (order(one - size, one, thunk) <= 0)
                break;
            for (size_t byte = 0; byte < size; byte++) {
                unsigned char kept = one[byte];
                one[byte] = one[byte - size];
                one[byte - size] = kept;
            }
        }
    return 0;
}

inline void click_chatter(const char *, ...) {}
// Sorts numbers in ascending order.
template <class T> inline int click_qsort(T *numbers, size_t count) {
    for (size_t at = 1; at < count; at++)
        for (size_t to = at; to > 0 && numbers[to] < numbers[to - 1]; to--)
            click_swap(numbers[to], numbers[to - 1]);
    return 0;
}

// Returns the complement of the sum of 16-bit words with end-around carry (RFC 1071).
SLOWPATH_KEPT inline uint16_t click_in_cksum(const unsigned char *data, int length) {
    uint32_t sum = 0;
    SLOWPATH_LOOP for (; length > 1; length -= 2, data += 2) {
        uint16_t word;
        memcpy(&word, data, 2);
        sum += word;
    }
    if (length)
        sum += *data;
    sum = (sum & 0xffff) + (sum >> 16);
    sum += sum >> 16;
    return ~sum & 0xffff;
}

// Updates a checksum after one 16-bit word of its data changed (RFC 1624, equation 3).
SLOWPATH_INLINE void click_update_in_cksum(uint16_t *sum, uint16_t before, uint16_t after) {
    uint32_t changed = (uint16_t) ~*sum + (uint32_t) (uint16_t) ~before + after;
    changed = (changed & 0xffff) + (changed >> 16);
    *sum = ~(changed + (changed >> 16));
}

// Chooses between the two representations of zero after an update: all-zero data has 0xffff.
inline void click_update_zero_in_cksum(uint16_t *sum, const unsigned char *data, int length) {
    if (*sum != 0 && *sum != 0xffff)
        return;
    *sum = 0xffff;
    for (int at = 0; at < length; at++)
        if (data[at])
            *sum = 0;
}

// Returns the checksum of data and pseudo header (RFC 9293, 3.1); `data` is the data's checksum.
SLOWPATH_INLINE uint16_t click_in_cksum_pseudohdr_raw(uint32_t data, uint32_t from, uint32_t to,
                                                      int protocol, int length) {
    uint32_t sum = (uint16_t) ~data;
    sum += (from & 0xffff) + (from >> 16) + (to & 0xffff) + (to >> 16);
    sum += htons((uint16_t) protocol) + htons((uint16_t) length);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~(sum + (sum >> 16)) & 0xffff;
}
SLOWPATH_INLINE uint16_t click_in_cksum_pseudohdr(uint32_t data, const click_ip *ip, int length) {
    return click_in_cksum_pseudohdr_raw(data, ip->ip_src.s_addr, ip->ip_dst.s_addr, ip->ip_p,
                                        length);
}
#endif
