// A vector with a fixed number of slots.
#ifndef SLOWPATH_CLICK_VECTOR_HH
#define SLOWPATH_CLICK_VECTOR_HH
#include <click/algorithm.hh>

#ifndef SLOWPATH_VECTOR
#define SLOWPATH_VECTOR 256
#endif

// Type of a slot: bytes for types without a default constructor.
template <class T, bool Made = __is_constructible(T)> struct slowpath_click_slot {
    typedef T type;
};
template <class T> struct slowpath_click_slot<T, false> {
    struct type {
        alignas(T) unsigned char bytes[sizeof(T)];
        SLOWPATH_INLINE void operator=(const T &value) { *(T *) this = value; }
        SLOWPATH_INLINE operator const T &() const { return *(const T *) this; }
    };
};
// Type for passing an element: by value for scalars, else by reference.
template <class T, bool Plain = __is_scalar(T)> struct slowpath_click_passed {
    typedef const T &type;
};
template <class T> struct slowpath_click_passed<T, true> {
    typedef T type;
};

template <class T, unsigned Slots = SLOWPATH_VECTOR> class Vector {
    typedef typename slowpath_click_passed<T>::type Passed;

  public:
    typedef T value_type;
    typedef int size_type;
    typedef T *iterator;
    typedef const T *const_iterator;

    Vector() : _size(0) {}
    explicit Vector(int size, const T &value = T()) : _size(0) { resize(size, value); }

    SLOWPATH_INLINE int size() const { return _size; }
    SLOWPATH_INLINE bool empty() const { return _size == 0; }
    SLOWPATH_INLINE int capacity() const { return Slots; }
    SLOWPATH_INLINE T &operator[](int at) { return begin()[at]; }
    SLOWPATH_INLINE const T &operator[](int at) const { return begin()[at]; }
    SLOWPATH_INLINE T &at(int at) { return begin()[at]; }
    SLOWPATH_INLINE const T &at(int at) const { return begin()[at]; }
    SLOWPATH_INLINE T &front() { return *begin(); }
    SLOWPATH_INLINE const T &front() const { return *begin(); }
    SLOWPATH_INLINE T &back() { return begin()[_size - 1]; }
    SLOWPATH_INLINE const T &back() const { return begin()[_size - 1]; }
    SLOWPATH_INLINE iterator begin() { return (T *) _slots; }
    SLOWPATH_INLINE iterator end() { return begin() + _size; }
    SLOWPATH_INLINE const_iterator begin() const { return (const T *) _slots; }
    SLOWPATH_INLINE const_iterator end() const { return begin() + _size; }
    SLOWPATH_INLINE T *data() { return begin(); }
    SLOWPATH_INLINE const T *data() const { return begin(); }
    SLOWPATH_INLINE T &unchecked_at(int at) { return begin()[at]; }
    SLOWPATH_INLINE const T &unchecked_at(int at) const { return begin()[at]; }
    SLOWPATH_KEPT void push_back(Passed value) {
        if (_size >= (int) Slots)
            slowpath_click_vector_is_full();
        _slots[_size++] = value;
    }
    SLOWPATH_INLINE void pop_back() { _size--; }
    void resize(int size, const T &value = T()) {
        if (size > (int) Slots)
            slowpath_click_vector_is_full();
        for (; _size < size; _size++)
            _slots[_size] = value;
        _size = size;
    }
    void assign(int size, const T &value = T()) {
        _size = 0;
        resize(size, value);
    }
    void push_front(const T &value) { insert(begin(), value); }
    void pop_front() { erase(begin()); }
    iterator insert(iterator before, const T &value) {
        T kept = value;
        push_back(kept);
        for (iterator at = end() - 1; at > before; --at)
            *at = at[-1];
        *before = kept;
        return before;
    }
    void swap(Vector &x) {
        Vector kept = *this;
        *this = x;
        x = kept;
    }
    bool reserve(int size) { return size <= (int) Slots; }
    void clear() { _size = 0; }
    iterator erase(iterator one) { return one < end() ? erase(one, one + 1) : one; }
    iterator erase(iterator first, iterator last) {
        for (iterator to = first, at = last; at < end(); ++to, ++at)
            *to = *at;
        _size -= last - first;
        return first;
    }

  private:
    typename slowpath_click_slot<T>::type _slots[Slots];
    int _size;
};
// Functions instead of methods, so that operators of an element for its own vector type win.
template <class T, unsigned Slots>
bool operator==(const Vector<T, Slots> &x, const Vector<T, Slots> &y) {
    for (int at = 0; at < x.size() && x.size() == y.size(); at++)
        if (!(x[at] == y[at]))
            return false;
    return x.size() == y.size();
}
template <class T, unsigned Slots>
bool operator!=(const Vector<T, Slots> &x, const Vector<T, Slots> &y) {
    return !(x == y);
}
#endif
