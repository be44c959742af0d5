// A hash table as NICs have them: buckets of a fixed number of slots, nothing allocated. A look-up
// hashes, and compares the slots of one bucket; an entry that finds no free slot there is refused.
#ifndef SLOWPATH_NIC_TABLE_HH
#define SLOWPATH_NIC_TABLE_HH
#include <click/glue.hh>
#include <nic/sizes.h>

namespace nic {

// So that all bits of a hash, such as a sum of fields, choose the bucket.
SLOWPATH_INLINE uint32_t spread(uint32_t hash) {
    hash ^= hash >> 16;
    hash *= 0x85ebca6b;
    hash ^= hash >> 13;
    return hash;
}

template <class K, class V, unsigned Buckets = SLOWPATH_BUCKETS, unsigned Slots = SLOWPATH_SLOTS>
class Table {
  public:
    struct Slot {
        uint32_t tag;  // 0: free
        K key;
        V value;
    };
    struct Bucket {
        Slot slots[Slots];
    };

    Table() : _size(0) {
        for (unsigned at = 0; at < Buckets * Slots; at++)
            slot(at).tag = 0;
    }

    SLOWPATH_KEPT Slot *look_up(const K &key) {
        uint32_t hash = hash_of(key);
        Bucket &bucket = _buckets[hash % Buckets];
        uint32_t tag = hash | 1;
        SLOWPATH_LOOP for (unsigned at = 0; at < Slots; at++) {
            Slot &slot = bucket.slots[at];
            if (slot.tag == tag && slot.key == key)
                return &slot;
        }
        return 0;
    }

    // The slot of a key that is there already, or a free one that it takes; 0: the bucket is full.
    SLOWPATH_KEPT Slot *take(const K &key, bool &fresh) {
        uint32_t hash = hash_of(key);
        Bucket &bucket = _buckets[hash % Buckets];
        uint32_t tag = hash | 1;
        Slot *free = 0;
        SLOWPATH_LOOP for (unsigned at = 0; at < Slots; at++) {
            Slot &slot = bucket.slots[at];
            if (slot.tag == tag && slot.key == key) {
                fresh = false;
                return &slot;
            }
            if (slot.tag == 0 && !free)
                free = &slot;
        }
        fresh = true;
        if (!free)
            return 0;
        free->tag = tag;
        free->key = key;
        _size++;
        return free;
    }

    // The same where callers cannot be told that there is no room: a slot of the bucket is reused.
    SLOWPATH_KEPT Slot *force(const K &key, bool &fresh) {
        Slot *found = take(key, fresh);
        if (found)
            return found;
        slowpath_click_totals.evicted++;
        uint32_t hash = hash_of(key);
        found = &_buckets[hash % Buckets].slots[Slots - 1];
        found->tag = hash | 1;
        found->key = key;
        return found;
    }

    // Whether the key is new; what finds no free slot is not there afterwards.
    SLOWPATH_INLINE bool put(const K &key, const V &value) {
        bool fresh;
        Slot *slot = take(key, fresh);
        if (!slot) {
            slowpath_click_totals.refused++;
            return false;
        }
        slot->value = value;
        return fresh;
    }

    // The value of a key that is put there if it is new, whatever has to go for it.
    SLOWPATH_INLINE Slot *forced(const K &key, const V &value) {
        bool fresh;
        Slot *slot = force(key, fresh);
        if (fresh)
            slot->value = value;
        return slot;
    }

    SLOWPATH_KEPT bool erase(const K &key) {
        Slot *found = look_up(key);
        if (!found)
            return false;
        erase(found);
        return true;
    }

    SLOWPATH_INLINE void erase(Slot *slot) {
        slot->tag = 0;
        _size--;
    }

    void clear() {
        for (unsigned at = 0; at < Buckets * Slots; at++)
            slot(at).tag = 0;
        _size = 0;
    }

    SLOWPATH_INLINE size_t size() const { return _size; }
    SLOWPATH_INLINE Slot &slot(unsigned at) { return _buckets[at / Slots].slots[at % Slots]; }

    // The first slot in use from a number on.
    unsigned used(unsigned at) {
        while (at < Buckets * Slots && slot(at).tag == 0)
            at++;
        return at;
    }

    static const unsigned entries = Buckets * Slots;

  private:
    SLOWPATH_INLINE static uint32_t hash_of(const K &key) {
        return spread((uint32_t) hashcode(key));
    }

    Bucket _buckets[Buckets];
    uint32_t _size;
};

}  // namespace nic
#endif
