// Old name of click/hashmap.hh.
#include <click/hashmap.hh>
