// Old name of IPHelper.
#ifndef SLOWPATH_CLICK_IPELEMENT_HH
#define SLOWPATH_CLICK_IPELEMENT_HH
#include <click/iphelper.hh>

class IPElement : public IPHelper {};
#endif
