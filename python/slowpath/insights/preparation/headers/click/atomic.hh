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
    SLOWPATH_INLINE bool dec_and_test() { return fetch_and_add(-1) == 1; }

  private:
    uint32_t _value;
};
#endif
