// A double-ended queue with a fixed number of slots.
#ifndef SLOWPATH_CLICK_DEQUE_HH
#define SLOWPATH_CLICK_DEQUE_HH
#include <click/vector.hh>

template <class T, unsigned Slots = SLOWPATH_VECTOR> class Deque {
  public:
    typedef T value_type;
    typedef int size_type;
    template <class D, class V> class Place {
      public:
        Place(D *deque = 0, int at = 0) : _deque(deque), _at(at) {}
        SLOWPATH_INLINE V &operator*() const { return (*_deque)[_at]; }
        SLOWPATH_INLINE V *operator->() const { return &(*_deque)[_at]; }
        SLOWPATH_INLINE Place &operator++() { return _at++, *this; }
        SLOWPATH_INLINE Place &operator--() { return _at--, *this; }
        SLOWPATH_INLINE Place operator++(int) { return Place(_deque, _at++); }
        SLOWPATH_INLINE Place operator+(int by) const { return Place(_deque, _at + by); }
        SLOWPATH_INLINE int operator-(const Place &x) const { return _at - x._at; }
        SLOWPATH_INLINE bool operator==(const Place &x) const { return _at == x._at; }
        SLOWPATH_INLINE bool operator!=(const Place &x) const { return _at != x._at; }
        SLOWPATH_INLINE bool operator<(const Place &x) const { return _at < x._at; }

      private:
        D *_deque;
        int _at;
        friend class Deque;
    };
    typedef Place<Deque, T> iterator;
    typedef Place<const Deque, const T> const_iterator;

    Deque() : _first(0), _size(0) {}
    explicit Deque(int size, const T &value) : _first(0), _size(0) { assign(size, value); }
    SLOWPATH_INLINE int size() const { return _size; }
    SLOWPATH_INLINE bool empty() const { return _size == 0; }
    SLOWPATH_INLINE int capacity() const { return Slots; }
    SLOWPATH_INLINE T &operator[](int at) { return ((T *) _slots)[(_first + at) % Slots]; }
    SLOWPATH_INLINE const T &operator[](int at) const {
        return ((const T *) _slots)[(_first + at) % Slots];
    }
    SLOWPATH_INLINE T &at(int at) { return (*this)[at]; }
    SLOWPATH_INLINE const T &at(int at) const { return (*this)[at]; }
    SLOWPATH_INLINE T &front() { return (*this)[0]; }
    SLOWPATH_INLINE const T &front() const { return (*this)[0]; }
    SLOWPATH_INLINE T &back() { return (*this)[_size - 1]; }
    SLOWPATH_INLINE const T &back() const { return (*this)[_size - 1]; }
    SLOWPATH_INLINE iterator begin() { return iterator(this, 0); }
    SLOWPATH_INLINE iterator end() { return iterator(this, _size); }
    SLOWPATH_INLINE const_iterator begin() const { return const_iterator(this, 0); }
    SLOWPATH_INLINE const_iterator end() const { return const_iterator(this, _size); }

    SLOWPATH_KEPT void push_back(const T &value) {
        grow();
        back() = value;
    }
    SLOWPATH_KEPT void push_front(const T &value) {
        T kept = value;
        grow();
        _first = (_first + Slots - 1) % Slots;
        front() = kept;
    }
    SLOWPATH_INLINE void pop_back() { _size--; }
    SLOWPATH_INLINE void pop_front() {
        _first = (_first + 1) % Slots;
        _size--;
    }
    SLOWPATH_INLINE void clear() { _size = 0; }
    bool reserve(int size) { return size <= (int) Slots; }
    void assign(int size, const T &value = T()) {
        clear();
        resize(size, value);
    }
    void resize(int size, const T &value = T()) {
        while (_size < size)
            push_back(value);
        _size = size;
    }
    iterator erase(iterator one) {
        for (int at = one._at; at + 1 < _size; at++)
            (*this)[at] = (*this)[at + 1];
        _size--;
        return one;
    }
    iterator insert(iterator one, const T &value) {
        push_back(value);
        for (int at = _size - 1; at > one._at; at--)
            click_swap((*this)[at], (*this)[at - 1]);
        return one;
    }

  private:
    SLOWPATH_INLINE void grow() {
        if (_size >= (int) Slots)
            slowpath_click_vector_is_full();
        _size++;
    }
    typename slowpath_click_slot<T>::type _slots[Slots];
    unsigned _first;
    int _size;
};
#endif
