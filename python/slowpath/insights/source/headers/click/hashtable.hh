// HashTable of keys and values, implemented as a NIC's table.
#ifndef SLOWPATH_CLICK_HASHTABLE_HH
#define SLOWPATH_CLICK_HASHTABLE_HH
#include <click/hashcontainer.hh>

template <class K, class V, unsigned Buckets = SLOWPATH_BUCKETS> class HashTable {
    typedef nic::Table<K, V, Buckets> Table;
    typedef typename Table::Slot Slot;

  public:
    class iterator {
      public:
        iterator() : _table(0), _slot(0) {}
        iterator(Table *table, Slot *slot) : _table(table), _slot(slot) {}
        SLOWPATH_INLINE bool live() const { return _slot; }
        SLOWPATH_INLINE operator bool() const { return _slot; }
        SLOWPATH_INLINE const K &key() const { return _slot->key; }
        SLOWPATH_INLINE V &value() const { return _slot->value; }
        SLOWPATH_INLINE bool operator==(const iterator &x) const { return _slot == x._slot; }
        SLOWPATH_INLINE bool operator!=(const iterator &x) const { return _slot != x._slot; }
        void operator++() {
            _slot++;  // slots of all buckets are contiguous
            Slot *end = &_table->slot(0) + Table::entries;
            while (_slot < end && _slot->tag == 0)
                _slot++;
            if (_slot == end)
                _slot = 0;
        }
        void operator++(int) { ++*this; }

      private:
        Table *_table;
        Slot *_slot;
        friend class HashTable;
    };
    typedef iterator const_iterator;

    HashTable() : _default() {}
    explicit HashTable(const V &value) : _default(value) {}

    SLOWPATH_INLINE size_t size() const { return _table.size(); }
    SLOWPATH_INLINE bool empty() const { return size() == 0; }
    SLOWPATH_INLINE size_t capacity() const { return Table::entries; }
    SLOWPATH_INLINE void clear() { _table.clear(); }

    iterator begin() const {
        unsigned at = table().used(0);
        return at < Table::entries ? iterator(&table(), &table().slot(at)) : end();
    }
    SLOWPATH_INLINE iterator end() const { return iterator(&table(), 0); }
    SLOWPATH_INLINE iterator find(const K &key) const {
        return iterator(&table(), table().look_up(key));
    }
    SLOWPATH_INLINE size_t count(const K &key) const { return table().look_up(key) != 0; }
    SLOWPATH_INLINE V *get_pointer(const K &key) const {
        Slot *slot = table().look_up(key);
        return slot ? &slot->value : 0;
    }
    SLOWPATH_INLINE const V &get(const K &key) const {
        Slot *slot = table().look_up(key);
        return slot ? slot->value : _default;
    }
    SLOWPATH_INLINE iterator find_insert(const K &key, const V &value) {
        return iterator(&table(), table().forced(key, value));
    }
    SLOWPATH_INLINE iterator find_insert(const K &key) { return find_insert(key, _default); }
    SLOWPATH_INLINE V &operator[](const K &key) { return find_insert(key).value(); }

    // Returns true if the key is new and was inserted; without a free slot it is not.
    SLOWPATH_INLINE bool set(const K &key, const V &value) { return table().put(key, value); }
    SLOWPATH_INLINE size_t erase(const K &key) { return table().erase(key); }
    SLOWPATH_INLINE iterator erase(iterator one) {
        iterator next = one;
        ++next;
        table().erase(one._slot);
        return next;
    }

  private:
    SLOWPATH_INLINE Table &table() const { return const_cast<Table &>(_table); }

    Table _table;
    V _default;
};
#endif
