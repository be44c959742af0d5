// A token bucket: tokens arrive at a rate, up to a capacity.
#ifndef SLOWPATH_CLICK_TOKENBUCKET_HH
#define SLOWPATH_CLICK_TOKENBUCKET_HH
#include <click/integers.hh>
#include <click/timer.hh>

class TokenBucket {
  public:
    typedef uint32_t token_type;
    typedef uint32_t ticks_type;
    enum { max_tokens = 0xffffffff };

    TokenBucket() : _rate(0), _capacity(0), _level(0), _filled(0) {}
    // Sets the rate in tokens per second and the capacity; empties the bucket.
    TokenBucket(token_type rate, token_type capacity) { assign(rate, capacity); }
    void assign(token_type rate, token_type capacity) {
        _rate = rate;
        _capacity = (uint64_t) capacity * CLICK_HZ;
        _level = 0;
        _filled = click_jiffies();
    }
    // Sets rate and capacity; the tokens in the bucket stay.
    void assign_adjust(token_type rate, token_type capacity) {
        uint64_t level = _level;
        assign(rate, capacity);
        _level = level < _capacity ? level : _capacity;
    }
    SLOWPATH_INLINE token_type rate() const { return _rate; }
    SLOWPATH_INLINE token_type capacity() const { return _capacity / CLICK_HZ; }
    SLOWPATH_INLINE token_type size() const { return _level / CLICK_HZ; }
    SLOWPATH_INLINE bool full() const { return _level >= _capacity; }
    SLOWPATH_INLINE bool unlimited() const { return _rate == (token_type) max_tokens; }
    SLOWPATH_INLINE void set(token_type tokens) { fill((uint64_t) tokens * CLICK_HZ); }
    SLOWPATH_INLINE void set_full() { _level = _capacity; }
    SLOWPATH_INLINE void clear() { _level = 0; }

    // Adds the tokens since the last call.
    SLOWPATH_INLINE void refill() {
        click_jiffies_t now = click_jiffies();
        fill(_level + (uint64_t) _rate * (click_jiffies_t) (now - _filled));
        _filled = now;
    }
    SLOWPATH_INLINE bool contains(token_type tokens) const {
        return unlimited() || _level >= (uint64_t) tokens * CLICK_HZ;
    }
    SLOWPATH_INLINE void remove(token_type tokens) {
        uint64_t taken = (uint64_t) tokens * CLICK_HZ;
        _level = taken < _level ? _level - taken : 0;
    }
    SLOWPATH_INLINE bool remove_if(token_type tokens) {
        bool enough = contains(tokens);
        if (enough)
            remove(tokens);
        return enough;
    }
    // Returns the time in jiffies.
    ticks_type time_until_contains(token_type tokens) const {
        if (contains(tokens))
            return 0;
        uint64_t missing = (uint64_t) tokens * CLICK_HZ - _level;
        return _rate ? (missing + _rate - 1) / _rate : (ticks_type) -1;
    }

  private:
    SLOWPATH_INLINE void fill(uint64_t level) { _level = level < _capacity ? level : _capacity; }

    token_type _rate;
    uint64_t _capacity;  // in the unit of the level: tokens times jiffies per second
    uint64_t _level;
    click_jiffies_t _filled;
};
#endif
