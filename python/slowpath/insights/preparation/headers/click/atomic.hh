// Numbers that several cores change.
#ifndef SLOWPATH_CLICK_ATOMIC_HH
#define SLOWPATH_CLICK_ATOMIC_HH
#include <click/glue.hh>

class atomic_uint32_t {
  public:
    SLOWPATH_INLINE operator uint32_t() const { return value(); }
    SLOWPATH_INLINE uint32_t value() const { return __atomic_load_n(&_value, __ATOMIC_SEQ_CST); }
    SLOWPATH_INLINE atomic_uint32_t &operator=(uint32_t x) {
        __atomic_store_n(&_value, x, __ATOMIC_SEQ_CST);
        return *this;
    }
    SLOWPATH_INLINE atomic_uint32_t &operator+=(int32_t x) {
        fetch_and_add(x);
        return *this;
    }
    SLOWPATH_INLINE atomic_uint32_t &operator-=(int32_t x) {
        fetch_and_add(-x);
        return *this;
    }
    SLOWPATH_INLINE atomic_uint32_t &operator|=(uint32_t x) {
        __atomic_fetch_or(&_value, x, __ATOMIC_SEQ_CST);
        return *this;
    }
    SLOWPATH_INLINE atomic_uint32_t &operator&=(uint32_t x) {
        __atomic_fetch_and(&_value, x, __ATOMIC_SEQ_CST);
        return *this;
    }
    SLOWPATH_INLINE void operator++() { fetch_and_add(1); }
    SLOWPATH_INLINE void operator++(int) { fetch_and_add(1); }
    SLOWPATH_INLINE void operator--() { fetch_and_add(-1); }
    SLOWPATH_INLINE void operator--(int) { fetch_and_add(-1); }
    SLOWPATH_INLINE uint32_t fetch_and_add(uint32_t x) {
        return __atomic_fetch_add(&_value, x, __ATOMIC_SEQ_CST);
    }
    SLOWPATH_INLINE uint32_t swap(uint32_t x) {
        return __atomic_exchange_n(&_value, x, __ATOMIC_SEQ_CST);
    }
    // What was there; if that is `before`, it is `after` now.
    SLOWPATH_INLINE uint32_t compare_swap(uint32_t before, uint32_t after) {
        return compare_swap(_value, before, after);
    }
    SLOWPATH_INLINE static uint32_t compare_swap(volatile uint32_t &value, uint32_t before,
                                                 uint32_t after) {
        __atomic_compare_exchange_n(&value, &before, after, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        return before;
    }
    SLOWPATH_INLINE bool compare_and_swap(uint32_t before, uint32_t after) {
        return compare_swap(before, after) == before;
    }
    SLOWPATH_INLINE static uint32_t swap(volatile uint32_t &value, uint32_t x) {
        return __atomic_exchange_n(&value, x, __ATOMIC_SEQ_CST);
    }
    SLOWPATH_INLINE static void inc(volatile uint32_t &value) {
        __atomic_fetch_add(&value, 1, __ATOMIC_SEQ_CST);
    }
    SLOWPATH_INLINE static bool dec_and_test(volatile uint32_t &value) {
        return __atomic_fetch_add(&value, -1, __ATOMIC_SEQ_CST) == 1;
    }
    SLOWPATH_INLINE bool dec_and_test() { return fetch_and_add(-1) == 1; }

  private:
    uint32_t _value;
};
class atomic_uint64_t {
  public:
    SLOWPATH_INLINE operator uint64_t() const { return value(); }
    SLOWPATH_INLINE uint64_t value() const { return __atomic_load_n(&_value, __ATOMIC_SEQ_CST); }
    SLOWPATH_INLINE atomic_uint64_t &operator=(uint64_t x) {
        __atomic_store_n(&_value, x, __ATOMIC_SEQ_CST);
        return *this;
    }
    SLOWPATH_INLINE atomic_uint64_t &operator+=(int64_t x) {
        fetch_and_add(x);
        return *this;
    }
    SLOWPATH_INLINE atomic_uint64_t &operator-=(int64_t x) {
        fetch_and_add(-x);
        return *this;
    }
    SLOWPATH_INLINE atomic_uint64_t &operator|=(uint64_t x) {
        __atomic_fetch_or(&_value, x, __ATOMIC_SEQ_CST);
        return *this;
    }
    SLOWPATH_INLINE atomic_uint64_t &operator&=(uint64_t x) {
        __atomic_fetch_and(&_value, x, __ATOMIC_SEQ_CST);
        return *this;
    }
    SLOWPATH_INLINE void operator++() { fetch_and_add(1); }
    SLOWPATH_INLINE void operator++(int) { fetch_and_add(1); }
    SLOWPATH_INLINE void operator--() { fetch_and_add(-1); }
    SLOWPATH_INLINE void operator--(int) { fetch_and_add(-1); }
    SLOWPATH_INLINE uint64_t fetch_and_add(uint64_t x) {
        return __atomic_fetch_add(&_value, x, __ATOMIC_SEQ_CST);
    }
    SLOWPATH_INLINE uint64_t swap(uint64_t x) {
        return __atomic_exchange_n(&_value, x, __ATOMIC_SEQ_CST);
    }
    // What was there; if that is `before`, it is `after` now.
    SLOWPATH_INLINE uint64_t compare_swap(uint64_t before, uint64_t after) {
        return compare_swap(_value, before, after);
    }
    SLOWPATH_INLINE static uint64_t compare_swap(volatile uint64_t &value, uint64_t before,
                                                 uint64_t after) {
        __atomic_compare_exchange_n(&value, &before, after, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        return before;
    }
    SLOWPATH_INLINE bool compare_and_swap(uint64_t before, uint64_t after) {
        return compare_swap(before, after) == before;
    }
    SLOWPATH_INLINE static uint64_t swap(volatile uint64_t &value, uint64_t x) {
        return __atomic_exchange_n(&value, x, __ATOMIC_SEQ_CST);
    }
    SLOWPATH_INLINE static void inc(volatile uint64_t &value) {
        __atomic_fetch_add(&value, 1, __ATOMIC_SEQ_CST);
    }
    SLOWPATH_INLINE static bool dec_and_test(volatile uint64_t &value) {
        return __atomic_fetch_add(&value, -1, __ATOMIC_SEQ_CST) == 1;
    }
    SLOWPATH_INLINE bool dec_and_test() { return fetch_and_add(-1) == 1; }

  private:
    uint64_t _value;
};
#endif
