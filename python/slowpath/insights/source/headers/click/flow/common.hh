#include <click/flow/flow.hh>
