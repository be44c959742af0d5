#include <click/glue.hh>
