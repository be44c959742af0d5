// FastClick's hash tables for several cores, implemented as a NIC's table; a run has one core.
#ifndef SLOWPATH_CLICK_HASHTABLEMP_HH
#define SLOWPATH_CLICK_HASHTABLEMP_HH
#include <click/multithread.hh>
#include <nic/table.hh>

template <class K, class V, unsigned Buckets = SLOWPATH_BUCKETS> class HashTableMP {
    typedef nic::Table<K, V, Buckets> Table;
    typedef typename Table::Slot Slot;

  public:
    typedef uint32_t size_type;
    // A pointer to a value, or no value.
    class ptr {
      public:
        ptr(V *value = 0) : _value(value) {}
        SLOWPATH_INLINE operator bool() const { return _value; }
        SLOWPATH_INLINE V &operator*() const { return *_value; }
        SLOWPATH_INLINE V *operator->() const { return _value; }
        void release() {}

      private:
        V *_value;
    };
    typedef ptr write_ptr;
    class iterator {
      public:
        iterator(Table *table, unsigned at) : _table(table), _at(table->used(at)) {}
        SLOWPATH_INLINE operator bool() const { return _at < Table::entries; }
        SLOWPATH_INLINE void operator++() { _at = _table->used(_at + 1); }
        SLOWPATH_INLINE void operator++(int) { ++*this; }
        SLOWPATH_INLINE const K &key() const { return _table->slot(_at).key; }
        SLOWPATH_INLINE V &value() const { return _table->slot(_at).value; }
        SLOWPATH_INLINE V &operator*() const { return value(); }
        SLOWPATH_INLINE V *operator->() const { return &value(); }
        void erase() { _table->erase(&_table->slot(_at)); }

      private:
        Table *_table;
        unsigned _at;
    };
    typedef iterator write_iterator;

    HashTableMP() {}
    explicit HashTableMP(size_type) {}
    SLOWPATH_INLINE size_type size() { return _table.size(); }
    SLOWPATH_INLINE bool empty() { return size() == 0; }
    SLOWPATH_INLINE size_type buckets() { return Buckets; }
    SLOWPATH_INLINE void clear() { _table.clear(); }
    void resize_clear(uint32_t) { clear(); }
    void initialize(size_type) {}
    void disable_mt() {}
    SLOWPATH_INLINE bool contains(const K &key) { return _table.look_up(key); }
    SLOWPATH_INLINE ptr find(const K &key) {
        Slot *slot = _table.look_up(key);
        return ptr(slot ? &slot->value : 0);
    }
    SLOWPATH_INLINE write_ptr find_write(const K &key) { return find(key); }
    SLOWPATH_INLINE ptr find_insert(const K &key, const V &value) {
        return ptr(&_table.forced(key, value)->value);
    }
    SLOWPATH_INLINE write_ptr find_insert_write(const K &key, const V &value) {
        return find_insert(key, value);
    }
    template <class F> ptr find_create(const K &key, F made) {
        ptr found = find(key);
        return found ? found : find_insert(key, made());
    }
    SLOWPATH_INLINE void insert(const K &key, const V &value) { _table.put(key, value); }
    template <class F> void insert(const K &key, const V &value, F replaced) {
        if (ptr found = find(key))
            replaced(*found);
        insert(key, value);
    }
    SLOWPATH_INLINE void erase(const K &key) { _table.erase(key); }
    bool find_erase(const K &key, V &value) {
        ptr found = find(key);
        if (!found)
            return false;
        value = *found;
        erase(key);
        return true;
    }
    iterator begin() { return iterator(&_table, 0); }
    write_iterator write_begin() { return begin(); }

  private:
    Table _table;
};
#endif
