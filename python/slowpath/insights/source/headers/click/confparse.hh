// Parsing of arguments and text.
#ifndef SLOWPATH_CLICK_CONFPARSE_HH
#define SLOWPATH_CLICK_CONFPARSE_HH
#include <click/args.hh>
#endif
