// Ethernet addresses.
#ifndef SLOWPATH_CLICK_ETHERADDRESS_HH
#define SLOWPATH_CLICK_ETHERADDRESS_HH
#include <click/string.hh>

class EtherAddress {
  public:
    SLOWPATH_INLINE EtherAddress() { memset(_data, 0, 6); }
    SLOWPATH_INLINE explicit EtherAddress(const unsigned char *data) { memcpy(_data, data, 6); }
    SLOWPATH_INLINE const unsigned char *data() const { return (const unsigned char *) _data; }
    SLOWPATH_INLINE unsigned char *data() { return (unsigned char *) _data; }
    SLOWPATH_INLINE static EtherAddress make_broadcast() {
        EtherAddress made;
        memset(made._data, 0xff, 6);
        return made;
    }
    SLOWPATH_INLINE const uint16_t *sdata() const { return _data; }
    SLOWPATH_INLINE uint16_t *sdata() { return _data; }
    // Returns two digits for each byte, with `between` as separator.
    String unparse(char between = '-') const {
        String made;
        for (int at = 0; at < 6; at++) {
            if (at)
                made += between;
            made += "0123456789ABCDEF"[data()[at] >> 4];
            made += "0123456789ABCDEF"[data()[at] & 15];
        }
        return made;
    }
    String unparse_dash() const { return unparse('-'); }
    String unparse_colon() const { return unparse(':'); }
    SLOWPATH_INLINE operator bool() const { return _data[0] || _data[1] || _data[2]; }
    SLOWPATH_INLINE bool empty() const { return !*this; }
    SLOWPATH_INLINE bool is_local() const { return data()[0] & 2; }
    SLOWPATH_INLINE bool is_group() const { return data()[0] & 1; }
    SLOWPATH_INLINE bool is_broadcast() const {
        return (_data[0] & _data[1] & _data[2]) == 0xffff;
    }
    SLOWPATH_INLINE hashcode_t hashcode() const {
        return _data[2] | (hashcode_t) _data[1] << 16 ^ (hashcode_t) _data[0] << 9;
    }
    SLOWPATH_INLINE bool operator==(const EtherAddress &x) const {
        return _data[0] == x._data[0] && _data[1] == x._data[1] && _data[2] == x._data[2];
    }
    SLOWPATH_INLINE bool operator!=(const EtherAddress &x) const { return !(*this == x); }

  private:
    uint16_t _data[3];
};
#endif
