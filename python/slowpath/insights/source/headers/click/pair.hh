// A pair of values.
#ifndef SLOWPATH_CLICK_PAIR_HH
#define SLOWPATH_CLICK_PAIR_HH
#include <click/glue.hh>

template <class T, class U> struct Pair {
    typedef T first_type;
    typedef U second_type;
    typedef T key_type;
    typedef const T &key_const_reference;

    Pair() : first(), second() {}
    Pair(const T &one, const U &other) : first(one), second(other) {}
    template <class V, class W> Pair(const Pair<V, W> &x) : first(x.first), second(x.second) {}
    SLOWPATH_INLINE const T &hashkey() const { return first; }
    SLOWPATH_INLINE hashcode_t hashcode() const {
        hashcode_t a = ::hashcode(first), b = ::hashcode(second);
        return a ^ b << 13 ^ b >> 19;
    }
    SLOWPATH_INLINE bool operator==(const Pair &x) const {
        return first == x.first && second == x.second;
    }
    SLOWPATH_INLINE bool operator!=(const Pair &x) const { return !(*this == x); }
    SLOWPATH_INLINE bool operator<(const Pair &x) const {
        return first < x.first || (!(x.first < first) && second < x.second);
    }

    T first;
    U second;
};
template <class T, class U> inline Pair<T, U> make_pair(T one, U other) {
    return Pair<T, U>(one, other);
}
#endif
