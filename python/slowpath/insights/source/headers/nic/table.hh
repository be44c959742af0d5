// A hash table as on NICs: buckets with a fixed number of slots, without allocation. A lookup
// hashes the key and compares the slots of one bucket; an entry without a free slot is refused.
#ifndef SLOWPATH_NIC_TABLE_HH
#define SLOWPATH_NIC_TABLE_HH
#include <click/glue.hh>
#include <nic/sizes.h>

namespace nic {

// Mixes a hash, such as a sum of fields, so that all bits choose the bucket.
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

    // Returns the slot of an existing key, or takes a free slot; 0 if the bucket is full.
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

    // Does the same for callers that cannot fail: if the bucket is full, reuses one of its slots.
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

    // Returns true if the key is new and was inserted; without a free slot it is not.
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

    // Returns the slot of a key; a new key is inserted with `value`, if necessary in place of
    // another one.
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

    // Returns the index of the first used slot from `at` on.
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
