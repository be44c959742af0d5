// A list with a fixed number of slots.
#ifndef SLOWPATH_CLICK_VECTOR_HH
#define SLOWPATH_CLICK_VECTOR_HH
#include <click/glue.hh>

#ifndef SLOWPATH_VECTOR
#define SLOWPATH_VECTOR 256
#endif

template <class T, unsigned Slots = SLOWPATH_VECTOR> class Vector {
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
    SLOWPATH_INLINE T &operator[](int at) { return _slots[at]; }
    SLOWPATH_INLINE const T &operator[](int at) const { return _slots[at]; }
    SLOWPATH_INLINE T &at(int at) { return _slots[at]; }
    SLOWPATH_INLINE const T &at(int at) const { return _slots[at]; }
    SLOWPATH_INLINE T &front() { return _slots[0]; }
    SLOWPATH_INLINE const T &front() const { return _slots[0]; }
    SLOWPATH_INLINE T &back() { return _slots[_size - 1]; }
    SLOWPATH_INLINE const T &back() const { return _slots[_size - 1]; }
    SLOWPATH_INLINE iterator begin() { return _slots; }
    SLOWPATH_INLINE iterator end() { return _slots + _size; }
    SLOWPATH_INLINE const_iterator begin() const { return _slots; }
    SLOWPATH_INLINE const_iterator end() const { return _slots + _size; }
    SLOWPATH_INLINE T *data() { return _slots; }

    SLOWPATH_KEPT void push_back(const T &value) {
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
    bool reserve(int size) { return size <= (int) Slots; }
    void clear() { _size = 0; }
    iterator erase(iterator one) {
        for (iterator at = one; at + 1 < end(); ++at)
            *at = at[1];
        _size--;
        return one;
    }

  private:
    T _slots[Slots];
    int _size;
};
#endif
