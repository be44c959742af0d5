// A list of routes to IPv4 prefixes.
#ifndef SLOWPATH_CLICK_IPTABLE_HH
#define SLOWPATH_CLICK_IPTABLE_HH
#include <click/ipaddress.hh>
#include <click/vector.hh>

class IPTable {
  public:
    void clear() { _routes.clear(); }
    void add(IPAddress to, IPAddress mask, IPAddress gateway, int index) {
        Route made = {to & mask, mask, gateway, index};
        _routes.push_back(made);
    }
    void del(IPAddress to, IPAddress mask) {
        for (Route *at = _routes.begin(); at != _routes.end();)
            at = at->to == (to & mask) && at->mask == mask ? _routes.erase(at) : at + 1;
    }
    // Finds the gateway and the index of the longest prefix that contains an address.
    SLOWPATH_KEPT bool lookup(IPAddress address, IPAddress &gateway, int &index) const {
        const Route *best = 0;
        SLOWPATH_LOOP for (int at = 0; at < _routes.size(); at++) {
            const Route *one = &_routes[at];
            if (address.matches_prefix(one->to, one->mask)
                && (!best || one->mask.mask_more_specific(best->mask)))
                best = one;
        }
        if (!best)
            return false;
        gateway = best->gateway;
        index = best->index;
        return true;
    }

  private:
    struct Route {
        IPAddress to;
        IPAddress mask;
        IPAddress gateway;
        int index;
    };
    Vector<Route> _routes;
};
#endif
