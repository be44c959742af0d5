// Bit positions, square roots and products of integers.
#ifndef SLOWPATH_CLICK_INTEGERS_HH
#define SLOWPATH_CLICK_INTEGERS_HH
#include <click/glue.hh>

// Position of the lowest or highest set bit, from 1; 0 if no bit is set.
SLOWPATH_INLINE int ffs_lsb(int x) { return __builtin_ffs(x); }
SLOWPATH_INLINE int ffs_lsb(unsigned x) { return __builtin_ffs((int) x); }
SLOWPATH_INLINE int ffs_lsb(long x) { return __builtin_ffsl(x); }
SLOWPATH_INLINE int ffs_lsb(unsigned long x) { return __builtin_ffsl((long) x); }
SLOWPATH_INLINE int ffs_lsb(unsigned long long x) { return __builtin_ffsll((long long) x); }
SLOWPATH_INLINE int ffs_msb(unsigned x) { return x ? __builtin_clz(x) + 1 : 0; }
SLOWPATH_INLINE int ffs_msb(int x) { return ffs_msb((unsigned) x); }
SLOWPATH_INLINE int ffs_msb(unsigned long x) { return x ? __builtin_clzl(x) + 1 : 0; }
SLOWPATH_INLINE int ffs_msb(unsigned long long x) { return x ? __builtin_clzll(x) + 1 : 0; }

// Returns the integer square root, rounded down.
inline uint64_t slowpath_click_root(uint64_t x) {
    uint64_t root = 0;
    for (uint64_t bit = (uint64_t) 1 << 31; bit; bit >>= 1)
        if ((root | bit) * (root | bit) <= x)
            root |= bit;
    return root;
}
inline uint32_t int_sqrt(uint32_t x) { return slowpath_click_root(x); }
inline uint64_t int_sqrt(uint64_t x) { return slowpath_click_root(x); }
inline uint64_t int_sqrt(unsigned long long x) { return slowpath_click_root(x); }

SLOWPATH_INLINE uint32_t int_divide(uint32_t x, uint32_t by) { return x / by; }
SLOWPATH_INLINE int32_t int_divide(int32_t x, uint32_t by) {
    return x < 0 ? -(int32_t) ((by - 1 - (int64_t) x) / by) : (int32_t) (x / by);  // rounded down
}
SLOWPATH_INLINE uint64_t int_divide(uint64_t x, uint32_t by) { return x / by; }
SLOWPATH_INLINE int64_t int_divide(int64_t x, uint32_t by) {
    return x < 0 ? -(int64_t) (((uint64_t) -x + by - 1) / by) : (int64_t) ((uint64_t) x / by);
}

// Integers of several words, the least significant word first.
class bigint {
  public:
    typedef uint32_t limb_type;
    SLOWPATH_INLINE static void multiply(limb_type &high, limb_type &low, limb_type x, limb_type y) {
        uint64_t product = (uint64_t) x * y;
        high = product >> 32;
        low = product;
    }
    // Divides an integer; returns the remainder, and stores the quotient in `to`.
    static limb_type divide(limb_type *to, const limb_type *from, int words, limb_type by) {
        uint64_t rest = 0;
        while (words-- > 0) {
            rest = rest << 32 | from[words];
            to[words] = rest / by;
            rest %= by;
        }
        return rest;
    }
};
#endif
