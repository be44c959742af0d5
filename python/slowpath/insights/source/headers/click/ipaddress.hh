// IPv4 addresses, in network byte order.
#ifndef SLOWPATH_CLICK_IPADDRESS_HH
#define SLOWPATH_CLICK_IPADDRESS_HH
#include <click/string.hh>

class IPAddress {
  public:
    SLOWPATH_INLINE IPAddress() : _addr(0) {}
    SLOWPATH_INLINE IPAddress(unsigned x) : _addr(x) {}
    SLOWPATH_INLINE explicit IPAddress(int x) : _addr(x) {}
    SLOWPATH_INLINE IPAddress(struct in_addr x) : _addr(x.s_addr) {}
    SLOWPATH_INLINE explicit IPAddress(const unsigned char *data) { memcpy(&_addr, data, 4); }

    SLOWPATH_INLINE static IPAddress make_prefix(int length) {
        return IPAddress((unsigned) (length ? htonl(0xffffffffu << (32 - length)) : 0));
    }
    // Returns the prefix length of a mask; -1 if it is not a mask.
    int mask_to_prefix_len() const {
        uint32_t mask = ntohl(_addr);
        for (int length = 0; length <= 32; length++)
            if (mask == (length ? 0xffffffffu << (32 - length) : 0))
                return length;
        return -1;
    }
    bool mask_as_specific(IPAddress mask) const { return (_addr & mask._addr) == mask._addr; }
    bool mask_more_specific(IPAddress mask) const {
        return mask_as_specific(mask) && _addr != mask._addr;
    }
    String unparse() const {
        String made;
        for (int at = 0; at < 4; at++)
            made += (at ? "." : "") + String((int) data()[at]);
        return made;
    }
    String unparse_mask() const {
        int length = mask_to_prefix_len();
        return length < 0 ? unparse() : String(length);
    }
    String unparse_with_mask(IPAddress mask) const { return unparse() + "/" + mask.unparse_mask(); }
    String s() const { return unparse(); }
    SLOWPATH_INLINE uint32_t addr() const { return _addr; }
    SLOWPATH_INLINE operator uint32_t() const { return _addr; }
    SLOWPATH_INLINE operator struct in_addr() const { return in_addr(); }
    SLOWPATH_INLINE struct in_addr in_addr() const {
        struct in_addr made;
        made.s_addr = _addr;
        return made;
    }
    SLOWPATH_INLINE const unsigned char *data() const { return (const unsigned char *) &_addr; }
    SLOWPATH_INLINE unsigned char *data() { return (unsigned char *) &_addr; }
    SLOWPATH_INLINE bool empty() const { return _addr == 0; }
    SLOWPATH_INLINE static IPAddress make_broadcast() { return IPAddress(0xffffffffu); }
    SLOWPATH_INLINE bool is_broadcast() const { return _addr == 0xffffffffu; }
    SLOWPATH_INLINE bool is_link_local() const {
        return (_addr & htonl(0xffff0000u)) == htonl(0xa9fe0000u);
    }
    SLOWPATH_INLINE bool is_multicast() const { return (_addr & htonl(0xf0000000u)) == htonl(0xe0000000u); }
    SLOWPATH_INLINE bool matches_prefix(IPAddress addr, IPAddress mask) const {
        return ((_addr ^ addr._addr) & mask._addr) == 0;
    }
    SLOWPATH_INLINE hashcode_t hashcode() const { return ntohl(_addr); }
    SLOWPATH_INLINE bool operator==(IPAddress x) const { return _addr == x._addr; }
    SLOWPATH_INLINE bool operator!=(IPAddress x) const { return _addr != x._addr; }
    SLOWPATH_INLINE bool operator==(uint32_t x) const { return _addr == x; }
    SLOWPATH_INLINE bool operator!=(uint32_t x) const { return _addr != x; }
    SLOWPATH_INLINE IPAddress operator&(IPAddress x) const { return IPAddress(_addr & x._addr); }
    SLOWPATH_INLINE IPAddress operator|(IPAddress x) const { return IPAddress(_addr | x._addr); }
    SLOWPATH_INLINE IPAddress operator~() const { return IPAddress(~_addr); }
    SLOWPATH_INLINE IPAddress operator^(IPAddress x) const { return IPAddress(_addr ^ x._addr); }
    SLOWPATH_INLINE IPAddress &operator|=(IPAddress x) { _addr |= x._addr; return *this; }
    SLOWPATH_INLINE IPAddress &operator&=(IPAddress x) { _addr &= x._addr; return *this; }

  private:
    uint32_t _addr;
};

// A sorted pair of addresses, and an address with a port.
class IPPair {
  public:
    IPPair() {}
    IPPair(IPAddress from, IPAddress to) : src(from), dst(to) {}
    bool contains(IPAddress x) const { return x == src || x == dst; }
    IPAddress other(IPAddress x) const { return x == src ? dst : src; }
    SLOWPATH_INLINE hashcode_t hashcode() const {
        return src.addr() * 0x9e3779b1u ^ dst.addr() * 0x85ebca77u;
    }
    SLOWPATH_INLINE bool operator==(const IPPair &x) const { return src == x.src && dst == x.dst; }
    SLOWPATH_INLINE bool operator!=(const IPPair &x) const { return !(*this == x); }

    IPAddress src, dst;
};
class IPPort {
  public:
    IPPort() : port(0) {}
    IPPort(IPAddress address, uint16_t number) : ip(address), port(number) {}
    SLOWPATH_INLINE hashcode_t hashcode() const { return ip.addr() * 0x9e3779b1u ^ port; }
    SLOWPATH_INLINE bool operator==(const IPPort &x) const { return ip == x.ip && port == x.port; }

    IPAddress ip;
    uint16_t port;
};
#endif
