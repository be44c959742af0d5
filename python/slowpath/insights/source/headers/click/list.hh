// Doubly linked lists of objects that contain the links as a member.
#ifndef SLOWPATH_CLICK_LIST_HH
#define SLOWPATH_CLICK_LIST_HH
#include <click/glue.hh>

template <class T> class List_member {
  public:
    List_member() : _next(0), _prev(0) {}
    SLOWPATH_INLINE T *next() const { return _next; }
    SLOWPATH_INLINE T *prev() const { return _prev; }

  private:
    T *_next;
    T *_prev;
    template <class U, List_member<U> U::*link> friend class List;
};

template <class T, List_member<T> T::*link> class List {
  public:
    typedef size_t size_type;

    class iterator {
      public:
        iterator(T *at = 0) : _at(at) {}
        SLOWPATH_INLINE T *get() const { return _at; }
        SLOWPATH_INLINE bool live() const { return _at; }
        SLOWPATH_INLINE operator bool() const { return _at; }
        SLOWPATH_INLINE T *operator->() const { return _at; }
        SLOWPATH_INLINE T &operator*() const { return *_at; }
        SLOWPATH_INLINE bool operator==(const iterator &x) const { return _at == x._at; }
        SLOWPATH_INLINE bool operator!=(const iterator &x) const { return _at != x._at; }
        SLOWPATH_INLINE void operator++() { _at = (_at->*link)._next; }
        SLOWPATH_INLINE void operator++(int) { ++*this; }

      private:
        T *_at;
    };
    typedef iterator const_iterator;

    List() : _first(0), _last(0) {}
    SLOWPATH_INLINE bool empty() const { return !_first; }
    SLOWPATH_INLINE T *front() const { return _first; }
    SLOWPATH_INLINE T *back() const { return _last; }
    SLOWPATH_INLINE iterator begin() const { return iterator(_first); }
    SLOWPATH_INLINE iterator end() const { return iterator(); }
    size_type size() const {
        size_type count = 0;
        for (T *at = _first; at; at = (at->*link)._next)
            count++;
        return count;
    }

    // Inserts `one` in front of `before`; at the end if `before` is 0.
    void insert(T *before, T *one) {
        T *after = before ? (before->*link)._prev : _last;
        (one->*link)._next = before;
        (one->*link)._prev = after;
        (after ? (after->*link)._next : _first) = one;
        (before ? (before->*link)._prev : _last) = one;
    }
    iterator insert(iterator before, T *one) {
        insert(before.get(), one);
        return iterator(one);
    }
    void push_front(T *one) { insert(_first, one); }
    void push_back(T *one) { insert((T *) 0, one); }
    void erase(T *one) {
        T *next = (one->*link)._next, *prev = (one->*link)._prev;
        (prev ? (prev->*link)._next : _first) = next;
        (next ? (next->*link)._prev : _last) = prev;
        (one->*link)._next = (one->*link)._prev = 0;
    }
    iterator erase(iterator at) {
        T *next = (at.get()->*link)._next;
        erase(at.get());
        return iterator(next);
    }
    void pop_front() { erase(_first); }
    void pop_back() { erase(_last); }
    void clear() {
        while (_first)
            pop_front();
    }
    void __clear() { _first = _last = 0; }  // without changes to the objects
    void swap(List &x) {
        List kept = *this;
        *this = x;
        x = kept;
    }

  private:
    T *_first;
    T *_last;
};
#endif
