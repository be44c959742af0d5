// Times of a core's clock, which counts nanoseconds here.
#ifndef SLOWPATH_CLICK_TSCTIMESTAMP_HH
#define SLOWPATH_CLICK_TSCTIMESTAMP_HH
#include <click/timestamp.hh>

class TSCTimestamp : public Timestamp {
  public:
    typedef int64_t cycles_t;
    TSCTimestamp() {}
    TSCTimestamp(const uninitialized_t &x) : Timestamp(x) {}
    TSCTimestamp(const Timestamp &x) : Timestamp(x) {}
    explicit TSCTimestamp(cycles_t x) : Timestamp(make_nsec(x)) {}
    static TSCTimestamp now() { return Timestamp::now(); }
    static TSCTimestamp now_steady() { return now(); }
};
#endif
