// The tables of the headers, as functions that a test calls: small ones, whose buckets get full.
#include <click/hashmap.hh>
#include <click/hashtable.hh>
#include <click/vector.hh>

extern "C" {
void slowpath_click_vector_is_full(void) { __builtin_trap(); }

static HashMap<uint32_t, uint32_t, 1> *map;
static HashTable<uint32_t, uint32_t, 64> *table;
static Vector<int, 8> *list;

void reset(void) {
    delete map;
    delete table;
    delete list;
    map = new HashMap<uint32_t, uint32_t, 1>(7);
    table = new HashTable<uint32_t, uint32_t, 64>(7);
    list = new Vector<int, 8>();
    memset(&slowpath_click_totals, 0, sizeof slowpath_click_totals);
}
int map_insert(uint32_t key, uint32_t value) { return map->insert(key, value); }
long map_find(uint32_t key) { return map->find(key); }
int map_has(uint32_t key) { return map->findp(key) != 0; }
int map_erase(uint32_t key) { return map->erase(key); }
void map_force(uint32_t key, uint32_t value) { map->find_force(key) = value; }
long map_size(void) { return map->size(); }
long map_sum(void) {
    long sum = 0;
    for (HashMap<uint32_t, uint32_t, 1>::iterator one = map->begin(); one; one++)
        sum += one.key() * 1000l + one.value();
    return sum;
}
int table_set(uint32_t key, uint32_t value) { return table->set(key, value); }
long table_get(uint32_t key) { return table->get(key); }
int table_erase(uint32_t key) { return table->erase(key); }
void table_add(uint32_t key, uint32_t value) { (*table)[key] += value; }
long table_size(void) { return table->size(); }
long table_sum(void) {
    long sum = 0;
    for (HashTable<uint32_t, uint32_t, 64>::iterator one = table->begin(); one != table->end(); ++one)
        sum += one.key() * 1000l + one.value();
    return sum;
}
long refused(void) { return slowpath_click_totals.refused; }
long evicted(void) { return slowpath_click_totals.evicted; }
}
