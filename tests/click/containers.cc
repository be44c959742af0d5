// What keeps things, as functions that a test calls: objects come from an allocator with few slots.
#include <click/bitvector.hh>
#include <click/hashcontainer.hh>
#include <click/heap.hh>
#include <click/list.hh>
#include <click/standard/storage.hh>
#include <click/vector.hh>

struct Thing {
    typedef uint32_t key_type;
    typedef uint32_t key_const_reference;
    explicit Thing(uint32_t x) : key(x), value(0), _hashnext(0) {}
    uint32_t hashkey() const { return key; }
    uint32_t key;
    uint32_t value;
    List_member<Thing> link;
    Thing *_hashnext;
};
typedef HashContainer<Thing, HashContainer_adapter<Thing>, 4> Map;

struct Less {
    bool operator()(int x, int y) { return x < y; }
};
static int placed[64];
struct Place {
    void operator()(int *begin, int *at) { placed[*at] = at - begin; }
};

extern "C" {
void slowpath_click_vector_is_full(void) { __builtin_trap(); }

static Map *map;
static SizedHashAllocator<sizeof(Thing), 8> *slots;
static List<Thing, &Thing::link> *row;
static Vector<int, 64> *heap;
static Bitvector *bits;
static Storage *ring;

void reset(void) {
    delete map;
    delete slots;
    delete row;
    delete heap;
    delete bits;
    delete ring;
    map = new Map;
    slots = new SizedHashAllocator<sizeof(Thing), 8>;
    row = new List<Thing, &Thing::link>;
    heap = new Vector<int, 64>;
    bits = new Bitvector;
    ring = new Storage;
    ring->set_capacity(5);
    memset(&slowpath_click_totals, 0, sizeof slowpath_click_totals);
}
long refused(void) { return slowpath_click_totals.refused; }

// A map of objects, the oldest of which is the first of the row.
int map_set(uint32_t key, uint32_t value) {
    Map::iterator at = map->find(key);
    if (at) {
        at->value = value;
        row->erase(at.get());
        row->push_back(at.get());
        return 1;
    }
    void *slot = slots->allocate();
    if (!slot)
        return 0;
    Thing *made = new (slot) Thing(key);
    made->value = value;
    map->set(at, made);
    row->push_back(made);
    return 1;
}
long map_get(uint32_t key) {
    Thing *found = map->get(key);
    return found ? (long) found->value : -1;
}
int map_erase(uint32_t key) {
    Thing *gone = map->erase(key);
    if (!gone)
        return 0;
    row->erase(gone);
    slots->deallocate(gone);
    return 1;
}
long map_size(void) { return map->size(); }
long map_sum(void) {
    long sum = 0;
    for (Map::iterator at = map->begin(); at; ++at)
        sum += at->key * 1000l + at->value;
    return sum;
}
// All objects of one kind go, while they are passed.
void map_erase_odd(void) {
    for (Map::iterator at = map->begin(); at;)
        if (at->key & 1) {
            Thing *gone = map->erase(at);
            row->erase(gone);
            slots->deallocate(gone);
        } else
            ++at;
}
int row_size(void) { return row->size(); }
int row_key(int at) {
    List<Thing, &Thing::link>::iterator one = row->begin();
    while (at--)
        ++one;
    return one->key;
}
int row_backwards(int at) {
    Thing *one = row->back();
    while (at--)
        one = one->link.prev();
    return one->key;
}
void row_to_front(uint32_t key) {
    Thing *one = map->get(key);
    row->erase(one);
    row->insert(row->front(), one);
}

// A heap of different numbers, each of which knows its place.
void heap_push(int x) {
    heap->push_back(x);
    push_heap(heap->begin(), heap->end(), Less(), Place());
}
int heap_pop(void) {
    pop_heap(heap->begin(), heap->end(), Less(), Place());
    int least = heap->back();
    heap->pop_back();
    return least;
}
void heap_remove(int x) {
    remove_heap(heap->begin(), heap->end(), heap->begin() + placed[x], Less(), Place());
    heap->pop_back();
}
int heap_size(void) { return heap->size(); }
int heap_is_right(void) {
    for (int at = 0; at < heap->size(); at++)
        if (placed[(*heap)[at]] != at || (at && (*heap)[at] < (*heap)[(at - 1) / 2]))
            return 0;
    return 1;
}

// A list as an array of Python.
int vector_of(int which, int at, int value, int *numbers, int count) {
    Vector<int, 64> made;
    for (int one = 0; one < count; one++)
        made.push_back(numbers[one]);
    if (which == 0)
        made.insert(made.begin() + at, value);
    else if (which == 1)
        made.erase(made.begin() + at);
    else if (which == 2)
        made.erase(made.begin() + at, made.begin() + value);
    else
        made.resize(at, value);
    for (int one = 0; one < made.size(); one++)
        numbers[one] = made[one];
    return made.size();
}

void bits_size(int size) { bits->resize(size); }
void bits_all(int size, int value) { bits->assign(size, value); }
void bits_set(int at, int value) { (*bits)[at] = value; }
int bits_get(int at) { return (*(const Bitvector *) bits)[at]; }
int bits_weight(void) { return bits->weight(); }
int bits_zero(void) { return bits->zero(); }

int ring_put(void) {
    if (ring->next_i(ring->tail()) == ring->head())
        return 0;
    ring->set_tail(ring->next_i(ring->tail()));
    return 1;
}
int ring_take(void) {
    if (ring->empty())
        return 0;
    ring->set_head(ring->next_i(ring->head()));
    return 1;
}
int ring_size(void) { return ring->size(); }
int ring_back(void) { return ring->prev_i(ring->next_i(ring->tail())) == ring->tail(); }
}
