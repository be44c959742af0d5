// HashMap, implemented as a NIC's table.
#ifndef SLOWPATH_CLICK_HASHMAP_HH
#define SLOWPATH_CLICK_HASHMAP_HH
#include <nic/table.hh>

template <class K, class V, unsigned Buckets = SLOWPATH_BUCKETS> class HashMap {
    typedef nic::Table<K, V, Buckets> Table;
    typedef typename Table::Slot Slot;

  public:
    HashMap() : _default() {}
    explicit HashMap(const V &value) : _default(value) {}

    SLOWPATH_INLINE size_t size() const { return _table.size(); }
    SLOWPATH_INLINE bool empty() const { return size() == 0; }
    SLOWPATH_INLINE size_t capacity() const { return Table::entries; }
    SLOWPATH_INLINE void clear() { _table.clear(); }

    SLOWPATH_INLINE V *findp(const K &key) const {
        Slot *slot = table().look_up(key);
        return slot ? &slot->value : 0;
    }
    SLOWPATH_INLINE const V &find(const K &key, const V &other) const {
        V *found = findp(key);
        return found ? *found : other;
    }
    SLOWPATH_INLINE const V &find(const K &key) const { return find(key, _default); }
    SLOWPATH_INLINE const V &operator[](const K &key) const { return find(key, _default); }
    SLOWPATH_INLINE V *findp_force(const K &key) {
        return &table().forced(key, _default)->value;
    }
    SLOWPATH_INLINE V &find_force(const K &key) { return *findp_force(key); }

    // Returns true if the key is new and was inserted; without a free slot it is not.
    SLOWPATH_INLINE bool insert(const K &key, const V &value) { return table().put(key, value); }
    SLOWPATH_INLINE bool erase(const K &key) { return table().erase(key); }
    SLOWPATH_INLINE bool remove(const K &key) { return table().erase(key); }

    class iterator {
      public:
        iterator(HashMap *map, unsigned at) : _map(map), _at(map->_table.used(at)) {}
        SLOWPATH_INLINE bool live() const { return _at < Table::entries; }
        SLOWPATH_INLINE operator bool() const { return live(); }
        SLOWPATH_INLINE void operator++() { _at = _map->_table.used(_at + 1); }
        SLOWPATH_INLINE void operator++(int) { ++*this; }
        SLOWPATH_INLINE const K &key() const { return _map->_table.slot(_at).key; }
        SLOWPATH_INLINE V &value() const { return _map->_table.slot(_at).value; }

      private:
        HashMap *_map;
        unsigned _at;
    };
    typedef iterator const_iterator;
    SLOWPATH_INLINE iterator begin() const { return iterator(const_cast<HashMap *>(this), 0); }

  private:
    SLOWPATH_INLINE Table &table() const { return const_cast<Table &>(_table); }

    Table _table;
    V _default;
};
#endif
