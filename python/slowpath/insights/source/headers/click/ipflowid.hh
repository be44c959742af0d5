// Addresses and ports of a flow, in network byte order.
#ifndef SLOWPATH_CLICK_IPFLOWID_HH
#define SLOWPATH_CLICK_IPFLOWID_HH
#include <click/packet.hh>

class IPFlowID {
  public:
    SLOWPATH_INLINE IPFlowID() : _saddr(), _daddr(), _sport(0), _dport(0) {}
    struct uninitialized_t {};
    SLOWPATH_INLINE IPFlowID(const uninitialized_t &) {}
    SLOWPATH_INLINE IPFlowID(IPAddress saddr, uint16_t sport, IPAddress daddr, uint16_t dport)
        : _saddr(saddr), _daddr(daddr), _sport(sport), _dport(dport) {}
    SLOWPATH_INLINE explicit IPFlowID(const Packet *p)
        : _saddr(p->ip_header()->ip_src), _daddr(p->ip_header()->ip_dst),
          _sport(p->udp_header()->uh_sport), _dport(p->udp_header()->uh_dport) {}

    SLOWPATH_INLINE IPFlowID(const Packet *p, bool reverse) { *this = IPFlowID(p).turned(reverse); }
    SLOWPATH_INLINE explicit IPFlowID(const click_ip *ip) {
        const click_udp *ports = (const click_udp *) ((const uint8_t *) ip + 4 * ip->ip_hl);
        *this = IPFlowID(ip->ip_src, ports->uh_sport, ip->ip_dst, ports->uh_dport);
    }
    SLOWPATH_INLINE IPAddress saddr() const { return _saddr; }
    SLOWPATH_INLINE IPAddress daddr() const { return _daddr; }
    SLOWPATH_INLINE uint16_t sport() const { return _sport; }
    SLOWPATH_INLINE uint16_t dport() const { return _dport; }
    SLOWPATH_INLINE void set_saddr(IPAddress x) { _saddr = x; }
    SLOWPATH_INLINE void set_daddr(IPAddress x) { _daddr = x; }
    SLOWPATH_INLINE void set_sport(uint16_t x) { _sport = x; }
    SLOWPATH_INLINE void set_dport(uint16_t x) { _dport = x; }
    SLOWPATH_INLINE IPFlowID reverse() const { return IPFlowID(_daddr, _dport, _saddr, _sport); }
    SLOWPATH_INLINE IPFlowID rev() const { return reverse(); }
    void assign(IPAddress saddr, uint16_t sport, IPAddress daddr, uint16_t dport) {
        *this = IPFlowID(saddr, sport, daddr, dport);
    }
    // "(10.0.0.1, 80, 10.0.0.2, 1024)"
    String unparse() const {
        return "(" + _saddr.unparse() + ", " + String(ntohs(_sport)) + ", " + _daddr.unparse() + ", "
               + String(ntohs(_dport)) + ")";
    }
    SLOWPATH_INLINE operator bool() const { return _saddr.addr() || _daddr.addr(); }
    SLOWPATH_INLINE hashcode_t hashcode() const {
        uint32_t ports = (uint32_t) _sport << 16 | _dport;
        return _saddr.addr() * 0x9e3779b1u ^ _daddr.addr() * 0x85ebca77u ^ ports * 0xc2b2ae3du;
    }
    SLOWPATH_INLINE bool operator==(const IPFlowID &x) const {
        return _sport == x._sport && _dport == x._dport && _saddr == x._saddr
               && _daddr == x._daddr;
    }
    SLOWPATH_INLINE bool operator!=(const IPFlowID &x) const { return !(*this == x); }

  private:
    SLOWPATH_INLINE IPFlowID turned(bool reversed) const { return reversed ? reverse() : *this; }
    IPAddress _saddr;
    IPAddress _daddr;
    uint16_t _sport;
    uint16_t _dport;
};
#endif
