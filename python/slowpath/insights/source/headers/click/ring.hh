// FastClick's rings with a fixed number of slots, of which one may stay free.
#ifndef SLOWPATH_CLICK_RING_HH
#define SLOWPATH_CLICK_RING_HH
#include <click/vector.hh>

template <class T, size_t Slots> class BaseRing {
  public:
    BaseRing() : head(0), tail(0), ring() {}
    SLOWPATH_INLINE bool has_space() { return head - tail < Slots; }
    SLOWPATH_INLINE bool is_empty() { return head == tail; }
    SLOWPATH_INLINE unsigned int count() { return head - tail; }
    SLOWPATH_INLINE T extract() { return is_empty() ? T() : ring[tail++ % Slots]; }
    SLOWPATH_INLINE bool insert(T value) {
        if (!has_space())
            return false;
        ring[head++ % Slots] = value;
        return true;
    }

    uint32_t head, tail;

  protected:
    T ring[Slots];
};
template <class T, size_t Slots> class Ring : public BaseRing<T, Slots> {};

// The number of slots is set by the configuration, up to SLOWPATH_VECTOR.
template <class T> class SPSCDynamicRing {
  public:
    SPSCDynamicRing() : _head(0), _tail(0), _size(0), _ring() {}
    void initialize(int size, const char * = 0, int = 0) {
        if (size > SLOWPATH_VECTOR)
            slowpath_click_vector_is_full();
        _size = size;
    }
    SLOWPATH_INLINE bool initialized() { return _size; }
    SLOWPATH_INLINE bool is_empty() { return _head == _tail; }
    SLOWPATH_INLINE bool is_full() { return after(_head) == _tail; }
    SLOWPATH_INLINE unsigned int count() { return (_head + _size - _tail) % _size; }
    SLOWPATH_INLINE T extract() {
        if (is_empty())
            return T();
        T value = _ring[_tail];
        _tail = after(_tail);
        return value;
    }
    SLOWPATH_INLINE bool insert(T value) {
        if (is_full())
            return false;
        _ring[_head] = value;
        _head = after(_head);
        return true;
    }

  private:
    SLOWPATH_INLINE uint32_t after(uint32_t at) { return at + 1 < _size ? at + 1 : 0; }
    uint32_t _head, _tail, _size;
    T _ring[SLOWPATH_VECTOR];
};
template <class T> using DynamicRing = SPSCDynamicRing<T>;
template <class T> class MPMCDynamicRing : public SPSCDynamicRing<T> {};
template <class T> class MPSCDynamicRing : public MPMCDynamicRing<T> {};
#endif
