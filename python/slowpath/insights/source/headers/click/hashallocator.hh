// An allocator for objects of one size with a fixed number of slots, as on a card.
#ifndef SLOWPATH_CLICK_HASHALLOCATOR_HH
#define SLOWPATH_CLICK_HASHALLOCATOR_HH
#include <nic/table.hh>

template <size_t Size, unsigned Slots = SLOWPATH_BUCKETS * SLOWPATH_SLOTS>
class SizedHashAllocator {
  public:
    SizedHashAllocator() : _used(0), _free(0) {}

    // Returns a slot; 0 if none is free.
    SLOWPATH_KEPT void *allocate() {
        if (_free) {
            Slot *taken = _free;
            _free = taken->next;
            return taken;
        }
        if (_used == Slots) {
            slowpath_click_totals.refused++;
            return 0;
        }
        return &_slots[_used++];
    }
    SLOWPATH_KEPT void deallocate(void *slot) {
        ((Slot *) slot)->next = _free;
        _free = (Slot *) slot;
    }
    // Does nothing: slots must not move, so only empty allocators may be swapped.
    void swap(SizedHashAllocator &) {}

  private:
    union Slot {
        Slot *next;
        unsigned char bytes[Size];
        uint64_t aligned;
    };
    Slot _slots[Slots];
    unsigned _used;  // slots that were used at least once
    Slot *_free;
};
#endif
