// Times; now is when the packet at hand was captured.
#ifndef SLOWPATH_CLICK_TIMESTAMP_HH
#define SLOWPATH_CLICK_TIMESTAMP_HH
#include <click/glue.hh>

class Timestamp {
  public:
    typedef int32_t seconds_type;
    typedef int64_t value_type;
    enum { subsec_per_sec = 1000000000, nsec_per_sec = 1000000000, usec_per_sec = 1000000,
           msec_per_sec = 1000 };

    SLOWPATH_INLINE Timestamp() : _value(0) {}
    SLOWPATH_INLINE explicit Timestamp(long seconds, uint32_t subseconds = 0)
        : _value((int64_t) seconds * nsec_per_sec + subseconds) {}
    SLOWPATH_INLINE explicit Timestamp(int seconds, uint32_t subseconds = 0)
        : _value((int64_t) seconds * nsec_per_sec + subseconds) {}

    SLOWPATH_INLINE static Timestamp make_nsec(int64_t value) {
        Timestamp made;
        made._value = value;
        return made;
    }
    SLOWPATH_INLINE static Timestamp make_nsec(int64_t seconds, uint32_t value) {
        return make_nsec(seconds * nsec_per_sec + value);
    }
    SLOWPATH_INLINE static Timestamp make_usec(int64_t value) { return make_nsec(value * 1000); }
    SLOWPATH_INLINE static Timestamp make_usec(int64_t seconds, uint32_t value) {
        return make_nsec(seconds * nsec_per_sec + (int64_t) value * 1000);
    }
    SLOWPATH_INLINE static Timestamp make_msec(int64_t value) { return make_nsec(value * 1000000); }
    SLOWPATH_INLINE static Timestamp now() { return make_nsec((int64_t) slowpath_click_now); }
    SLOWPATH_INLINE static Timestamp now_steady() { return now(); }
    SLOWPATH_INLINE static Timestamp recent() { return now(); }
    SLOWPATH_INLINE static Timestamp recent_steady() { return now(); }
    SLOWPATH_INLINE void assign_now() { *this = now(); }

    SLOWPATH_INLINE int32_t sec() const { return _value / nsec_per_sec; }
    SLOWPATH_INLINE uint32_t subsec() const { return _value % nsec_per_sec; }
    SLOWPATH_INLINE uint32_t nsec() const { return _value % nsec_per_sec; }
    SLOWPATH_INLINE uint32_t usec() const { return _value % nsec_per_sec / 1000; }
    SLOWPATH_INLINE uint32_t msec() const { return _value % nsec_per_sec / 1000000; }
    SLOWPATH_INLINE int64_t nsecval() const { return _value; }
    SLOWPATH_INLINE int64_t usecval() const { return _value / 1000; }
    SLOWPATH_INLINE int64_t msecval() const { return _value / 1000000; }
    SLOWPATH_INLINE double doubleval() const { return _value / 1e9; }
    SLOWPATH_INLINE void clear() { _value = 0; }
    SLOWPATH_INLINE void set_sec(int32_t x) {
        _value = (int64_t) x * nsec_per_sec + _value % nsec_per_sec;
    }
    SLOWPATH_INLINE operator bool() const { return _value != 0; }

    SLOWPATH_INLINE Timestamp operator+(Timestamp x) const { return make_nsec(_value + x._value); }
    SLOWPATH_INLINE Timestamp operator-(Timestamp x) const { return make_nsec(_value - x._value); }
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
#endif
