// A hash table of objects that other code owns; each object has a link to the next one of its
// bucket. The number of buckets is fixed, as on a card. A lookup compares the objects of one
// bucket.
#ifndef SLOWPATH_CLICK_HASHCONTAINER_HH
#define SLOWPATH_CLICK_HASHCONTAINER_HH
#include <click/hashallocator.hh>

// Access to the objects of a table: `hashkey()`, and the member `_hashnext`.
template <class T> class HashContainer_adapter {
  public:
    typedef typename T::key_type key_type;
    typedef typename T::key_const_reference key_const_reference;
    SLOWPATH_INLINE static T *&hashnext(T *one) { return one->_hashnext; }
    SLOWPATH_INLINE static key_const_reference hashkey(const T *one) { return one->hashkey(); }
    template <class K> SLOWPATH_INLINE static bool hashkeyeq(const K &x, const K &y) {
        return x == y;
    }
};

template <class T, class A = HashContainer_adapter<T>, unsigned Buckets = SLOWPATH_BUCKETS>
class HashContainer {
  public:
    typedef typename A::key_type key_type;
    typedef typename A::key_const_reference key_const_reference;
    typedef T value_type;
    typedef size_t size_type;

    // The position of an object, or where an object with its key would be inserted. After a
    // removal, the search for the next object waits until its first use, as it may visit many
    // buckets.
    class iterator {
      public:
        iterator() : _table(0), _link(0), _bucket(Buckets), _taken_out(false) {}
        SLOWPATH_INLINE T *get() const {
            if (_taken_out)
                settle();
            return _link ? *_link : 0;
        }
        SLOWPATH_INLINE bool live() const { return get(); }
        SLOWPATH_INLINE operator bool() const { return get(); }
        SLOWPATH_INLINE bool operator!() const { return !get(); }
        SLOWPATH_INLINE T *operator->() const { return get(); }
        SLOWPATH_INLINE T &operator*() const { return *get(); }
        SLOWPATH_INLINE bool operator==(const iterator &x) const { return get() == x.get(); }
        SLOWPATH_INLINE bool operator!=(const iterator &x) const { return get() != x.get(); }
        void operator++() {
            if (T *here = get())
                _link = &A::hashnext(here);
            settle();
        }
        void operator++(int) { ++*this; }

      private:
        iterator(const HashContainer *table, T **link, unsigned bucket)
            : _table(const_cast<HashContainer *>(table)), _link(link), _bucket(bucket),
              _taken_out(false) {}
        // Moves to the next object, if necessary in a later bucket.
        void settle() const {
            _taken_out = false;
            while (_link && !*_link) {
                if (++_bucket >= Buckets) {
                    _link = 0;
                    return;
                }
                _link = &_table->_buckets[_bucket];
            }
        }
        HashContainer *_table;
        mutable T **_link;
        mutable unsigned _bucket;
        mutable bool _taken_out;
        friend class HashContainer;
    };
    typedef iterator const_iterator;

    HashContainer() : _size(0) { clear(); }
    explicit HashContainer(size_type) : _size(0) { clear(); }

    SLOWPATH_INLINE size_type size() const { return _size; }
    SLOWPATH_INLINE bool empty() const { return _size == 0; }
    SLOWPATH_INLINE size_type bucket_count() const { return Buckets; }
    SLOWPATH_INLINE bool unbalanced() const { return false; }  // the number of buckets is fixed
    SLOWPATH_INLINE void balance() {}
    SLOWPATH_INLINE void rehash(size_type) {}
    void clear() {
        for (unsigned at = 0; at < Buckets; at++)
            _buckets[at] = 0;
        _size = 0;
    }
    void swap(HashContainer &x) {
        HashContainer kept = *this;
        *this = x;
        x = kept;
    }

    SLOWPATH_KEPT iterator find(key_const_reference key) {
        unsigned bucket = bucket_of(key);
        T **link = &_buckets[bucket];
        SLOWPATH_LOOP while (*link && !A::hashkeyeq(A::hashkey(*link), key))
            link = &A::hashnext(*link);
        return iterator(this, link, bucket);
    }
    const_iterator find(key_const_reference key) const {
        return const_cast<HashContainer *>(this)->find(key);
    }
    SLOWPATH_INLINE size_type count(key_const_reference key) const { return find(key).live(); }
    SLOWPATH_INLINE T *get(key_const_reference key) const { return find(key).get(); }

    iterator begin() const {
        iterator made(this, const_cast<T **>(&_buckets[0]), 0);
        made.settle();
        return made;
    }
    iterator end() const { return iterator(); }

    // Inserts an object where find() looked for its key; returns the object that it replaces.
    T *set(iterator &at, T *one, bool = false) {
        T *old = *at._link;
        A::hashnext(one) = old ? A::hashnext(old) : 0;
        *at._link = one;
        _size += !old;
        return old;
    }
    SLOWPATH_KEPT T *set(T *one) {
        iterator at = find(A::hashkey(one));
        return set(at, one);
    }
    SLOWPATH_KEPT void insert_at(iterator &at, T *one) {
        A::hashnext(one) = *at._link;
        *at._link = one;
        _size++;
    }

    // Removes and returns an object; `at` then is the next one.
    T *erase(iterator &at) {
        T *old = at.get();
        if (old) {
            *at._link = A::hashnext(old);
            _size--;
            at._taken_out = true;
        }
        return old;
    }
    SLOWPATH_KEPT T *erase(key_const_reference key) {
        iterator at = find(key);
        return erase(at);
    }

  private:
    SLOWPATH_INLINE static unsigned bucket_of(key_const_reference key) {
        return nic::spread((uint32_t) ::hashcode(key)) % Buckets;
    }

    T *_buckets[Buckets];
    size_type _size;
};
#endif
