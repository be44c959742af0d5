// Head and tail of a queue in a ring.
#ifndef SLOWPATH_CLICK_STANDARD_STORAGE_HH
#define SLOWPATH_CLICK_STANDARD_STORAGE_HH
#include <click/glue.hh>

class Storage {
  public:
    typedef uint32_t index_type;
    static const index_type invalid_index = (index_type) -1;

    Storage() : _capacity(0), _head(0), _tail(0) {}
    SLOWPATH_INLINE operator bool() const { return !empty(); }
    SLOWPATH_INLINE bool empty() const { return _head == _tail; }
    SLOWPATH_INLINE int size() const { return size(_head, _tail); }
    SLOWPATH_INLINE int size(index_type head, index_type tail) const {
        return tail >= head ? tail - head : tail + _capacity + 1 - head;
    }
    SLOWPATH_INLINE int capacity() const { return _capacity; }
    SLOWPATH_INLINE index_type head() const { return _head; }
    SLOWPATH_INLINE index_type tail() const { return _tail; }
    SLOWPATH_INLINE index_type next_i(index_type at) const { return at == _capacity ? 0 : at + 1; }
    SLOWPATH_INLINE index_type prev_i(index_type at) const { return at ? at - 1 : _capacity; }
    SLOWPATH_INLINE void set_capacity(index_type capacity) { _capacity = capacity; }
    SLOWPATH_INLINE void set_head(index_type at) { _head = at; }
    SLOWPATH_INLINE void set_tail(index_type at) { _tail = at; }
    SLOWPATH_INLINE void set_head_release(index_type at) { _head = at; }
    SLOWPATH_INLINE void set_tail_release(index_type at) { _tail = at; }
    SLOWPATH_INLINE void set_head_acquire(index_type at) { _head = at; }
    SLOWPATH_INLINE void set_tail_acquire(index_type at) { _tail = at; }

  protected:
    index_type _capacity;

  private:
    index_type _head;
    index_type _tail;
};
#endif
