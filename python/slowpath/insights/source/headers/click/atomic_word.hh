// An integer that several cores change: SLOWPATH_ATOMIC is the class, SLOWPATH_WORD its type, and
// SLOWPATH_STEP the signed type of the same width. <click/atomic.hh> includes this once per width.
class SLOWPATH_ATOMIC {
  public:
    SLOWPATH_INLINE operator SLOWPATH_WORD() const { return value(); }
    SLOWPATH_INLINE SLOWPATH_WORD value() const { return __atomic_load_n(&_value, __ATOMIC_SEQ_CST); }
    SLOWPATH_INLINE SLOWPATH_ATOMIC &operator=(SLOWPATH_WORD x) {
        __atomic_store_n(&_value, x, __ATOMIC_SEQ_CST);
        return *this;
    }
    SLOWPATH_INLINE SLOWPATH_ATOMIC &operator+=(SLOWPATH_STEP x) {
        fetch_and_add(x);
        return *this;
    }
    SLOWPATH_INLINE SLOWPATH_ATOMIC &operator-=(SLOWPATH_STEP x) {
        fetch_and_add(-x);
        return *this;
    }
    SLOWPATH_INLINE SLOWPATH_ATOMIC &operator|=(SLOWPATH_WORD x) {
        __atomic_fetch_or(&_value, x, __ATOMIC_SEQ_CST);
        return *this;
    }
    SLOWPATH_INLINE SLOWPATH_ATOMIC &operator&=(SLOWPATH_WORD x) {
        __atomic_fetch_and(&_value, x, __ATOMIC_SEQ_CST);
        return *this;
    }
    SLOWPATH_INLINE void operator++() { fetch_and_add(1); }
    SLOWPATH_INLINE void operator++(int) { fetch_and_add(1); }
    SLOWPATH_INLINE void operator--() { fetch_and_add(-1); }
    SLOWPATH_INLINE void operator--(int) { fetch_and_add(-1); }
    SLOWPATH_INLINE SLOWPATH_WORD fetch_and_add(SLOWPATH_WORD x) {
        return __atomic_fetch_add(&_value, x, __ATOMIC_SEQ_CST);
    }
    SLOWPATH_INLINE SLOWPATH_WORD swap(SLOWPATH_WORD x) {
        return __atomic_exchange_n(&_value, x, __ATOMIC_SEQ_CST);
    }
    // Stores `after` if the value is `before`; returns the old value.
    SLOWPATH_INLINE SLOWPATH_WORD compare_swap(SLOWPATH_WORD before, SLOWPATH_WORD after) {
        return compare_swap(_value, before, after);
    }
    SLOWPATH_INLINE static SLOWPATH_WORD compare_swap(volatile SLOWPATH_WORD &value,
                                                      SLOWPATH_WORD before, SLOWPATH_WORD after) {
        __atomic_compare_exchange_n(&value, &before, after, false, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
        return before;
    }
    SLOWPATH_INLINE bool compare_and_swap(SLOWPATH_WORD before, SLOWPATH_WORD after) {
        return compare_swap(before, after) == before;
    }
    SLOWPATH_INLINE static SLOWPATH_WORD swap(volatile SLOWPATH_WORD &value, SLOWPATH_WORD x) {
        return __atomic_exchange_n(&value, x, __ATOMIC_SEQ_CST);
    }
    SLOWPATH_INLINE static void inc(volatile SLOWPATH_WORD &value) {
        __atomic_fetch_add(&value, 1, __ATOMIC_SEQ_CST);
    }
    SLOWPATH_INLINE static bool dec_and_test(volatile SLOWPATH_WORD &value) {
        return __atomic_fetch_add(&value, -1, __ATOMIC_SEQ_CST) == 1;
    }
    SLOWPATH_INLINE bool dec_and_test() { return fetch_and_add(-1) == 1; }

  private:
    SLOWPATH_WORD _value;
};
#undef SLOWPATH_ATOMIC
#undef SLOWPATH_WORD
#undef SLOWPATH_STEP
