// Times; the current time is when the current packet was captured.
#ifndef SLOWPATH_CLICK_TIMESTAMP_HH
#define SLOWPATH_CLICK_TIMESTAMP_HH
#include <click/string.hh>
#include <sys/time.h>

// Format and arguments of a time for printf().
#define PRITIMESTAMP "%d.%09d"

class Timestamp {
  public:
    typedef int32_t seconds_type;
    typedef int64_t value_type;
    enum { subsec_per_sec = 1000000000, nsec_per_sec = 1000000000, usec_per_sec = 1000000,
           msec_per_sec = 1000, nsec_per_msec = 1000000, nsec_per_usec = 1000 };
    enum { max_seconds = 0x7fffffff, min_seconds = -0x7fffffff - 1 };

    SLOWPATH_INLINE Timestamp() : _value(0) {}
    SLOWPATH_INLINE explicit Timestamp(long seconds, uint32_t subseconds = 0)
        : _value((int64_t) seconds * nsec_per_sec + subseconds) {}
    struct uninitialized_t {};
    SLOWPATH_INLINE Timestamp(const uninitialized_t &) : _value(0) {}
    SLOWPATH_INLINE explicit Timestamp(unsigned seconds, uint32_t subseconds = 0)
        : _value((int64_t) seconds * nsec_per_sec + subseconds) {}
    SLOWPATH_INLINE explicit Timestamp(int seconds, uint32_t subseconds = 0)
        : _value((int64_t) seconds * nsec_per_sec + subseconds) {}

    SLOWPATH_INLINE Timestamp(const struct timeval &x)
        : _value((int64_t) x.tv_sec * nsec_per_sec + (int64_t) x.tv_usec * 1000) {}
    union rep_t {
        int64_t x;
    };

    SLOWPATH_INLINE static Timestamp make_nsec(int64_t value) {
        Timestamp made;
        made._value = value;
        return made;
    }
    SLOWPATH_INLINE static Timestamp make_nsec(int64_t seconds, uint32_t value) {
        return make_nsec(seconds * nsec_per_sec + value);
    }
    SLOWPATH_INLINE static Timestamp make_sec(int64_t value) {
        return make_nsec(value * nsec_per_sec);
    }
    SLOWPATH_INLINE static Timestamp make_usec(int64_t value) { return make_nsec(value * 1000); }
    SLOWPATH_INLINE static Timestamp make_usec(int64_t seconds, uint32_t value) {
        return make_nsec(seconds * nsec_per_sec + (int64_t) value * 1000);
    }
    SLOWPATH_INLINE static Timestamp make_msec(int64_t value) { return make_nsec(value * 1000000); }
    SLOWPATH_INLINE static Timestamp make_msec(int64_t seconds, uint32_t value) {
        return make_nsec(seconds * nsec_per_sec + (int64_t) value * 1000000);
    }
    SLOWPATH_INLINE static Timestamp make_jiffies(click_jiffies_t value) {
        return make_nsec((int64_t) value * (nsec_per_sec / CLICK_HZ));
    }
    SLOWPATH_INLINE static Timestamp epsilon() { return make_nsec((int64_t) 1); }
    SLOWPATH_INLINE static uint32_t usec_to_subsec(uint32_t x) { return x * 1000; }
    SLOWPATH_INLINE static uint32_t nsec_to_subsec(uint32_t x) { return x; }
    SLOWPATH_INLINE static uint32_t subsec_to_usec(uint32_t x) { return x / 1000; }
    SLOWPATH_INLINE static Timestamp now() { return make_nsec((int64_t) slowpath_click_now); }
    SLOWPATH_INLINE static Timestamp now_steady() { return now(); }
    SLOWPATH_INLINE static Timestamp recent() { return now(); }
    SLOWPATH_INLINE static Timestamp recent_steady() { return now(); }
    SLOWPATH_INLINE void assign_now() { *this = now(); }
    SLOWPATH_INLINE void assign_now_nouser(bool = false) { *this = now(); }
    SLOWPATH_INLINE int64_t longval() const { return _value; }

    SLOWPATH_INLINE int32_t sec() const { return _value / nsec_per_sec; }
    SLOWPATH_INLINE uint32_t subsec() const { return _value % nsec_per_sec; }
    SLOWPATH_INLINE uint32_t nsec() const { return _value % nsec_per_sec; }
    SLOWPATH_INLINE uint32_t usec() const { return _value % nsec_per_sec / 1000; }
    SLOWPATH_INLINE uint32_t msec() const { return _value % nsec_per_sec / 1000000; }
    SLOWPATH_INLINE int64_t nsecval() const { return _value; }
    SLOWPATH_INLINE int64_t usecval() const { return _value / 1000; }
    SLOWPATH_INLINE int64_t msecval() const { return _value / 1000000; }
    SLOWPATH_INLINE double doubleval() const { return _value / 1e9; }
    SLOWPATH_INLINE void assign(int32_t seconds, uint32_t subseconds = 0) {
        *this = Timestamp((long) seconds, subseconds);
    }
    SLOWPATH_INLINE void assign_nsec(int32_t seconds, uint32_t x) { *this = make_nsec(seconds, x); }
    SLOWPATH_INLINE void assign_usec(int32_t seconds, uint32_t x) { *this = make_usec(seconds, x); }
    SLOWPATH_INLINE void assign_recent() { *this = now(); }
    SLOWPATH_INLINE void assign_now_steady() { *this = now(); }
    SLOWPATH_INLINE click_jiffies_t jiffies() const {
        return _value / (nsec_per_sec / CLICK_HZ);
    }
    SLOWPATH_INLINE timeval as_timeval() const {
        timeval made;
        made.tv_sec = sec();
        made.tv_usec = usec();
        return made;
    }
    SLOWPATH_INLINE bool is_negative() const { return _value < 0; }
    SLOWPATH_INLINE void clear() { _value = 0; }
    SLOWPATH_INLINE void set_sec(int32_t x) {
        _value = (int64_t) x * nsec_per_sec + _value % nsec_per_sec;
    }
    SLOWPATH_INLINE void set_subsec(uint32_t x) { *this = Timestamp((long) sec(), x); }
    SLOWPATH_INLINE void set_nsec(uint32_t x) { set_subsec(x); }
    SLOWPATH_INLINE void set_usec(uint32_t x) { set_subsec(x * 1000); }
    inline String unparse() const;
    inline String unparse_interval() const;
    SLOWPATH_INLINE operator bool() const { return _value != 0; }

    SLOWPATH_INLINE Timestamp operator+(Timestamp x) const { return make_nsec(_value + x._value); }
    SLOWPATH_INLINE Timestamp operator-(Timestamp x) const { return make_nsec(_value - x._value); }
    SLOWPATH_INLINE Timestamp operator*(uint32_t x) const { return make_nsec(_value * x); }
    SLOWPATH_INLINE Timestamp operator/(uint32_t x) const { return make_nsec(_value / x); }
    SLOWPATH_INLINE Timestamp operator-() const { return make_nsec(-_value); }
    SLOWPATH_INLINE Timestamp &operator+=(Timestamp x) { return *this = *this + x; }
    SLOWPATH_INLINE Timestamp &operator-=(Timestamp x) { return *this = *this - x; }
    SLOWPATH_INLINE bool operator==(Timestamp x) const { return _value == x._value; }
    SLOWPATH_INLINE bool operator!=(Timestamp x) const { return _value != x._value; }
    SLOWPATH_INLINE bool operator<(Timestamp x) const { return _value < x._value; }
    SLOWPATH_INLINE bool operator>(Timestamp x) const { return _value > x._value; }
    SLOWPATH_INLINE bool operator<=(Timestamp x) const { return _value <= x._value; }
    SLOWPATH_INLINE bool operator>=(Timestamp x) const { return _value >= x._value; }

  private:
    int64_t _value;  // nanoseconds
};

// Formats seconds with six decimals.
inline String Timestamp::unparse() const {
    int64_t at = _value < 0 ? -_value : _value;
    String made = _value < 0 ? "-" : "";
    made += String((uint64_t) (at / nsec_per_sec)) + ".";
    for (int64_t unit = nsec_per_sec / 10; unit >= 1000; unit /= 10)
        made += (char) ('0' + at / unit % 10);
    return made;
}
inline String Timestamp::unparse_interval() const { return unparse() + "s"; }
#endif
