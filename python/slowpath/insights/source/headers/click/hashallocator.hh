// Memory for objects of one size: a fixed number of slots, as on a card.
#ifndef SLOWPATH_CLICK_HASHALLOCATOR_HH
#define SLOWPATH_CLICK_HASHALLOCATOR_HH
#include <nic/table.hh>

template <size_t Size, unsigned Slots = SLOWPATH_BUCKETS * SLOWPATH_SLOTS>
class SizedHashAllocator {
  public:
    SizedHashAllocator() : _used(0), _free(0) {}

    // A slot; 0: there is none.
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
    // Pointers into an allocator stay there, so only empty ones change places.
    void swap(SizedHashAllocator &) {}

  private:
    union Slot {
        Slot *next;
        unsigned char bytes[Size];
        uint64_t aligned;
    };
    Slot _slots[Slots];
    unsigned _used;  // slots that were ever taken
    Slot *_free;
};
#endif
