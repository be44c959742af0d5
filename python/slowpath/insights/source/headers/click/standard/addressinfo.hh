// Names of addresses; none are defined.
#ifndef SLOWPATH_CLICK_STANDARD_ADDRESSINFO_HH
#define SLOWPATH_CLICK_STANDARD_ADDRESSINFO_HH
#include <click/args.hh>

class AddressInfo {
  public:
    static bool query_ip(const String &, unsigned char *, const Element *) { return false; }
    static bool query_ethernet(const String &, unsigned char *, const Element *) { return false; }
};
#endif
