// Numbers, sums, averages and rates, as functions that a test calls.
#include <click/crc32.h>
#include <click/ewma.hh>
#include <click/gaprate.hh>
#include <click/integers.hh>
#include <click/iptable.hh>
#include <click/md5.h>
#include <click/packet.hh>
#include <click/tokenbucket.hh>

extern "C" {
void slowpath_click_vector_is_full(void) { __builtin_trap(); }
void slowpath_click_buffer_is_full(void) { __builtin_trap(); }

void set_now(uint64_t nanoseconds) { slowpath_click_now = nanoseconds; }

int least_bit(uint64_t x) { return ffs_lsb(x); }
int most_bit(uint64_t x) { return ffs_msb(x); }
int most_bit32(uint32_t x) { return ffs_msb(x); }
uint64_t root(uint64_t x) { return int_sqrt(x); }
uint32_t root32(uint32_t x) { return int_sqrt(x); }
long divided(long x, uint32_t by) { return int_divide((int64_t) x, by); }
int divided32(int x, uint32_t by) { return int_divide(x, by); }
// The quotient; the remainder is behind it.
void big_divided(uint64_t x, uint32_t by, uint64_t *to) {
    bigint::limb_type words[2] = {(uint32_t) x, (uint32_t) (x >> 32)};
    to[1] = bigint::divide(words, words, 2, by);
    to[0] = words[0] | (uint64_t) words[1] << 32;
}
uint64_t big_multiplied(uint32_t x, uint32_t y) {
    bigint::limb_type high, low;
    bigint::multiply(high, low, x, y);
    return (uint64_t) high << 32 | low;
}
static int descending(const void *x, const void *y, void *by) {
    return (*(const int *) y - *(const int *) x) * *(int *) by;
}
void sorted(int *numbers, int count, int by) {
    click_qsort(numbers, count, sizeof(int), descending, &by);
}

uint16_t plain_sum(const unsigned char *data, int length) { return click_in_cksum(data, length); }
uint16_t pseudo_sum(const click_ip *ip, const unsigned char *data, int length) {
    return click_in_cksum_pseudohdr(click_in_cksum(data, length), ip, length);
}
uint16_t pseudo_sum6(const unsigned char *from, const unsigned char *to, int protocol,
                     const unsigned char *data, int length, uint16_t before) {
    struct in6_addr x, y;
    memcpy(&x, from, 16);
    memcpy(&y, to, 16);
    return in6_fast_cksum(&x, &y, htons(length), protocol, before, data, htons(length));
}
uint16_t zero_sum(uint16_t sum, const unsigned char *data, int length) {
    click_update_zero_in_cksum(&sum, data, length);
    return sum;
}
uint32_t ethernet_sum(const char *data, int length) { return update_crc(~0u, data, length); }
void md5_of(const unsigned char *data, int length, int first, unsigned char *digest, char *text) {
    md5_state_t state;
    md5_init(&state);
    md5_append(&state, data, first);
    md5_append(&state, data + first, length - first);
    md5_state_t same = state;
    md5_finish(&state, digest);
    md5_finish_text(&same, text, 1);
    md5_free(&state);
}

static RateEWMAX<RateEWMAXParameters<4, 10, uint64_t, int64_t> > *average;
static GapRate *gaps;
static TokenBucket *bucket;

void begin(uint32_t rate, uint32_t capacity) {
    delete average;
    delete gaps;
    delete bucket;
    average = new RateEWMAX<RateEWMAXParameters<4, 10, uint64_t, int64_t> >;
    gaps = new GapRate(rate);
    bucket = new TokenBucket(rate, capacity);
}
uint64_t averaged(int by) {
    average->update(by);
    return average->scaled_average();
}
int allowed(void) {
    bool now = gaps->need_update(Timestamp::now());
    if (now)
        gaps->update();
    return now;
}
int taken(uint32_t tokens) {
    bucket->refill();
    return bucket->remove_if(tokens);
}
uint32_t until(uint32_t tokens) { return bucket->time_until_contains(tokens); }

static IPTable *table;
void table_begin(void) {
    delete table;
    table = new IPTable;
}
void table_add(uint32_t to, uint32_t mask, int index) {
    table->add(IPAddress(htonl(to)), IPAddress(htonl(mask)), IPAddress(), index);
}
int table_find(uint32_t address) {
    IPAddress gateway;
    int index;
    return table->lookup(IPAddress(htonl(address)), gateway, index) ? index : -1;
}
}
