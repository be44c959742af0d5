// Arguments and their texts.
#ifndef SLOWPATH_CLICK_CONFPARSE_HH
#define SLOWPATH_CLICK_CONFPARSE_HH
#include <click/args.hh>
#endif
