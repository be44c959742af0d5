// IPv6 addresses.
#ifndef SLOWPATH_CLICK_IP6ADDRESS_HH
#define SLOWPATH_CLICK_IP6ADDRESS_HH
#include <click/packet.hh>
#include <click/parsing.hh>
#include <click/straccum.hh>
#include <clicknet/ip6.h>

class Element;

class IP6Address {
  public:
    SLOWPATH_INLINE IP6Address() { memset(&_addr, 0, 16); }
    SLOWPATH_INLINE explicit IP6Address(const unsigned char *data) { memcpy(&_addr, data, 16); }
    SLOWPATH_INLINE IP6Address(const struct in6_addr &x) : _addr(x) {}
    // Maps an IPv4 address.
    explicit IP6Address(IPAddress x) {
        memset(&_addr, 0, 16);
        data()[10] = data()[11] = 0xff;
        memcpy(data() + 12, x.data(), 4);
    }
    // Invalid text becomes the zero address.
    explicit IP6Address(const String &text) {
        if (!read(text))
            memset(&_addr, 0, 16);
    }
    static IP6Address make_prefix(int length) {
        IP6Address made;
        for (int at = 0; at < length; at++)
            made.data()[at / 8] |= 0x80 >> at % 8;
        return made;
    }
    // Returns the prefix length of a mask; -1 if it is not a mask.
    int mask_to_prefix_len() const {
        int length = 0;
        while (length < 128 && (data()[length / 8] & 0x80 >> length % 8))
            length++;
        return *this == make_prefix(length) ? length : -1;
    }
    SLOWPATH_INLINE const unsigned char *data() const { return (const unsigned char *) &_addr; }
    SLOWPATH_INLINE unsigned char *data() { return (unsigned char *) &_addr; }
    SLOWPATH_INLINE const uint32_t *data32() const { return (const uint32_t *) &_addr; }
    SLOWPATH_INLINE uint32_t *data32() { return (uint32_t *) &_addr; }
    SLOWPATH_INLINE const struct in6_addr &in6_addr() const { return _addr; }
    SLOWPATH_INLINE operator const struct in6_addr &() const { return _addr; }
    SLOWPATH_INLINE operator bool() const {
        return data32()[0] || data32()[1] || data32()[2] || data32()[3];
    }
    bool matches_prefix(const IP6Address &x, const IP6Address &mask) const {
        return (*this & mask) == (x & mask);
    }
    bool mask_as_specific(const IP6Address &mask) const { return (*this & mask) == mask; }
    SLOWPATH_INLINE hashcode_t hashcode() const { return data32()[3] * 0x9e3779b1u ^ data32()[1]; }
    SLOWPATH_INLINE bool operator==(const IP6Address &x) const {
        return memcmp(&_addr, &x._addr, 16) == 0;
    }
    SLOWPATH_INLINE bool operator!=(const IP6Address &x) const { return !(*this == x); }
    IP6Address operator&(const IP6Address &x) const {
        IP6Address made;
        for (int at = 0; at < 4; at++)
            made.data32()[at] = data32()[at] & x.data32()[at];
        return made;
    }
    IP6Address &operator&=(const IP6Address &x) { return *this = *this & x; }

    // Formats eight numbers; the first run of zeros becomes "::".
    String unparse() const {
        String made;
        bool left = false;
        for (int at = 0; at < 8; at++) {
            if (!left && at < 7 && !word(at) && !word(at + 1)) {
                while (at < 7 && !word(at + 1))
                    at++;
                made += made.empty() ? "::" : ":";
                left = true;
                continue;
            }
            unsigned value = word(at);
            for (int shift = 12; shift >= 0; shift -= 4)
                if (value >> shift || !shift)
                    made += "0123456789abcdef"[value >> shift & 15];
            if (at < 7)
                made += ':';
        }
        return made;
    }
    String s() const { return unparse(); }
    // Formats a mask as its prefix length; if it is not a mask, as an address.
    String unparse_mask() const {
        int length = mask_to_prefix_len();
        return length < 0 ? unparse() : String(length);
    }
    String unparse_with_mask(const IP6Address &mask) const {
        return unparse() + "/" + mask.unparse_mask();
    }

    // Parses an address (numbers, "::" once, an IPv4 address at the end); returns false for other
    // text.
    bool read(const String &text) {
        unsigned char bytes[16];
        int count = 0, gap = -1, at = 0, length = text.length();
        if (length >= 2 && text[0] == ':' && text[1] == ':') {
            gap = 0;
            at = 2;
        }
        while (at < length) {
            unsigned value = 0, decimal = 0, digits = 0;
            int from = at;
            for (; at < length && digits < 4; at++, digits++) {
                char c = text[at] | 0x20;
                bool number = c >= '0' && c <= '9';
                if (!number && !(c >= 'a' && c <= 'f'))
                    break;
                value = value * 16 + (number ? c - '0' : c - 'a' + 10);
                decimal = decimal * 10 + (c - '0');
            }
            if (!digits)
                return false;
            if (at < length && text[at] == '.') {
                if (count > 12 || !slowpath_click_numbers(text.substring(from), '.', 10, 4,
                                                          bytes + count))
                    return false;
                count += 4;
                break;
            }
            if (count > 14)
                return false;
            bytes[count++] = value >> 8;
            bytes[count++] = value;
            if (at == length)
                break;
            if (text[at++] != ':')
                return false;
            if (at < length && text[at] == ':') {
                if (gap >= 0)
                    return false;
                gap = count;
                at++;
            } else if (at == length)
                return false;
        }
        if (gap < 0 ? count != 16 : count > 14)
            return false;
        memset(&_addr, 0, 16);
        int front = gap < 0 ? 16 : gap;
        memcpy(data(), bytes, front);
        memcpy(data() + 16 - (count - front), bytes + front, count - front);
        return true;
    }

  private:
    unsigned word(int at) const { return (unsigned) data()[2 * at] << 8 | data()[2 * at + 1]; }
    struct in6_addr _addr;
};

inline bool slowpath_click_parse(const String &text, IP6Address &value) { return value.read(text); }
inline bool slowpath_click_prefix(const String &text, IP6Address &address, int &length, bool bare) {
    int at = text.find_left('/');
    length = 128;
    if (at < 0)
        return bare && address.read(text);
    return slowpath_click_parse(text.substring(at + 1), length) && length >= 0 && length <= 128
           && address.read(text.substring(0, at));
}
struct IP6AddressArg {
    template <class... C> bool parse(const String &text, IP6Address &value, const C &...) const {
        return value.read(text);
    }
};
struct IP6PrefixArg {
    bool bare;
    IP6PrefixArg(bool allow_bare = false) : bare(allow_bare) {}
    template <class... C>
    bool parse(const String &text, IP6Address &address, int &length, const C &...) const {
        return slowpath_click_prefix(text, address, length, bare);
    }
    template <class... C>
    bool parse(const String &text, IP6Address &address, IP6Address &mask, const C &...) const {
        int length;
        bool right = slowpath_click_prefix(text, address, length, bare);
        mask = IP6Address::make_prefix(right ? length : 0);
        return right;
    }
};
inline bool cp_ip6_address(const String &text, IP6Address *value, const Element * = 0) {
    return value->read(text);
}
inline bool cp_ip6_address(const String &text, unsigned char *to, const Element * = 0) {
    IP6Address found;
    bool right = cp_ip6_address(text, &found);
    if (right)
        memcpy(to, found.data(), 16);
    return right;
}
inline bool cp_ip6_address(const String &text, struct in6_addr *value, const Element * = 0) {
    IP6Address found;
    bool right = found.read(text);
    *value = found;
    return right;
}
inline bool cp_ip6_prefix(const String &text, unsigned char *address, unsigned char *mask, bool bare,
                          const Element * = 0) {
    IP6Address found, of;
    if (!IP6PrefixArg(bare).parse(text, found, of))
        return false;
    memcpy(address, found.data(), 16);
    memcpy(mask, of.data(), 16);
    return true;
}

// The destination annotation of a packet.
SLOWPATH_INLINE const IP6Address &DST_IP6_ANNO(const Packet *p) {
    return *(const IP6Address *) p->anno();
}
SLOWPATH_INLINE void SET_DST_IP6_ANNO(Packet *p, const IP6Address &x) {
    memcpy(p->anno(), x.data(), 16);
}
#endif
