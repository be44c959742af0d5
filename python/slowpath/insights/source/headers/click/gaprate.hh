// A rate in packets per second, evenly spaced.
#ifndef SLOWPATH_CLICK_GAPRATE_HH
#define SLOWPATH_CLICK_GAPRATE_HH
#include <click/error.hh>
#include <click/timestamp.hh>

class GapRate {
  public:
    enum { MAX_RATE = 1000000 };

    GapRate() : _rate(0), _second(-1), _sent(0) {}
    explicit GapRate(unsigned rate) : _rate(0), _second(-1), _sent(0) { set_rate(rate); }
    SLOWPATH_INLINE unsigned rate() const { return _rate; }
    void set_rate(unsigned rate) {
        _rate = rate < (unsigned) MAX_RATE ? rate : (unsigned) MAX_RATE;
        reset();
    }
    void set_rate(unsigned rate, ErrorHandler *errh) {
        if (rate > (unsigned) MAX_RATE && errh)
            errh->error("rate too large; 1000000 is the most");
        set_rate(rate);
    }
    SLOWPATH_INLINE void reset() { _second = -1; }

    // Returns true if a packet may pass now: fewer passed in this second than the elapsed part of
    // it allows.
    SLOWPATH_INLINE bool need_update(const Timestamp &now) {
        int64_t due = (int64_t) now.usec() * _rate / 1000000;
        if (now.sec() != _second) {
            _sent = _second < 0 ? due : 0;
            _second = now.sec();
        }
        return _rate && _sent <= due;
    }
    SLOWPATH_INLINE void update() { _sent++; }
    SLOWPATH_INLINE void update_with(int count) { _sent += count; }

  private:
    unsigned _rate;
    int32_t _second;
    int64_t _sent;
};
#endif
