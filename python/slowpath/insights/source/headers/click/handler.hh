#include <click/element.hh>
