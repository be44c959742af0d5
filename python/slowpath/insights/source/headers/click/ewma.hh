// Exponentially weighted moving averages: each new value has the weight 1/2^Shift. Averages are
// integers, scaled by 2^Scale.
#ifndef SLOWPATH_CLICK_EWMA_HH
#define SLOWPATH_CLICK_EWMA_HH
#include <click/texts.hh>

template <unsigned Shift, unsigned Scale, class U = uint32_t, class S = int32_t>
class FixedEWMAXParameters {
  public:
    typedef U value_type;
    typedef S signed_value_type;
    SLOWPATH_INLINE static unsigned stability_shift() { return Shift; }
    SLOWPATH_INLINE static unsigned scale() { return Scale; }
    SLOWPATH_INLINE static unsigned compensation() { return 1 << (Shift - 1); }
};

template <class P> class DirectEWMAX : public P {
  public:
    typedef typename P::value_type value_type;
    typedef typename P::signed_value_type signed_value_type;
    DirectEWMAX() : _average(0) {}
    SLOWPATH_INLINE value_type scaled_average() const { return _average; }
    SLOWPATH_INLINE value_type unscaled_average() const { return _average >> this->scale(); }
    SLOWPATH_INLINE void clear() { _average = 0; }
    SLOWPATH_INLINE void assign(value_type scaled) { _average = scaled; }
    SLOWPATH_INLINE void update(value_type value) {
        signed_value_type by = (signed_value_type) ((value << this->scale()) - _average);
        _average += (by + (signed_value_type) this->compensation()) >> this->stability_shift();
    }
    // Updates the average as if `times` values had been 0.
    void update_zero_period(unsigned times) {
        if (times > 64u << this->stability_shift())
            _average = 0;
        for (; times && _average; times--)
            update(0);
    }
    String unparse() const { return cp_unparse_real2(_average, this->scale()); }

  private:
    value_type _average;
};
typedef DirectEWMAX<FixedEWMAXParameters<3, 10> > DirectEWMA;

// Averages of the sums per epoch; an epoch is a jiffy.
template <unsigned Shift, unsigned Scale, class U = uint32_t, class S = int32_t>
class RateEWMAXParameters : public FixedEWMAXParameters<Shift, Scale, U, S> {
  public:
    enum { rate_count = 1 };
    SLOWPATH_INLINE static unsigned epoch() { return click_jiffies(); }
    SLOWPATH_INLINE static unsigned epoch_frequency() { return CLICK_HZ; }
};

template <class P> class RateEWMAX {
  public:
    typedef typename P::value_type value_type;
    typedef typename P::signed_value_type signed_value_type;

    RateEWMAX() : _epoch(P::epoch()) {
        for (unsigned at = 0; at < P::rate_count; at++)
            _total[at] = 0;
    }
    void initialize() { *this = RateEWMAX(); }
    SLOWPATH_INLINE static unsigned scale() { return P::scale(); }
    SLOWPATH_INLINE static unsigned stability_shift() { return P::stability_shift(); }
    SLOWPATH_INLINE static unsigned epoch() { return P::epoch(); }
    SLOWPATH_INLINE static unsigned epoch_frequency() { return P::epoch_frequency(); }
    SLOWPATH_INLINE value_type scaled_average(unsigned which = 0) const {
        return _average[which].scaled_average();
    }
    // Returns the average per second.
    SLOWPATH_INLINE value_type rate(unsigned which = 0) const {
        return (scaled_average(which) * epoch_frequency()) >> scale();
    }
    String unparse_rate(unsigned which = 0) const {
        return cp_unparse_real2(scaled_average(which) * epoch_frequency(), scale());
    }
    SLOWPATH_KEPT void update(signed_value_type by, unsigned which = 0) {
        unsigned now = P::epoch();
        if (now != _epoch) {
            for (unsigned at = 0; at < P::rate_count; at++) {
                _average[at].update(_total[at]);
                _average[at].update_zero_period(now - _epoch - 1);
                _total[at] = 0;
            }
            _epoch = now;
        }
        _total[which] += by;
    }

  private:
    unsigned _epoch;
    value_type _total[P::rate_count];
    DirectEWMAX<P> _average[P::rate_count];
};
typedef RateEWMAX<RateEWMAXParameters<4, 10> > RateEWMA;
#endif
