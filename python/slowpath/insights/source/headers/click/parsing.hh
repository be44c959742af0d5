// Parsing of numbers and addresses.
#ifndef SLOWPATH_CLICK_PARSING_HH
#define SLOWPATH_CLICK_PARSING_HH
#include <click/atomic.hh>
#include <click/etheraddress.hh>
#include <click/ipaddress.hh>
#include <click/timestamp.hh>

inline int slowpath_click_digit(char c) {
    char lower = c | 0x20;
    return c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'z' ? lower - 'a' + 10 : 99;
}
// Returns the base of a number, and moves `at` to its digits. Base 0 means the base that the prefix
// "0x", "0b" or "0" states, else 10.
inline unsigned slowpath_click_base(const char *&at, const char *end, unsigned base) {
    if (end - at < 2 || *at != '0')
        return base ? base : 10;
    char mark = at[1] | 0x20;
    unsigned told = mark == 'x' ? 16 : mark == 'b' ? 2 : 0;
    if (told && (base == 0 || base == told) && end - at > 2
        && slowpath_click_digit(at[2]) < (int) told) {
        at += 2;
        return told;
    }
    return base ? base : 8;
}
// Parses a number in a given base, or in the base that its prefix states (0).
inline bool slowpath_click_number(const String &text, uint64_t most, uint64_t &value,
                                  unsigned base = 0) {
    const char *at = text.begin(), *end = text.end();
    base = slowpath_click_base(at, end, base);
    if (at == end)
        return false;
    value = 0;
    for (; at < end; at++) {
        unsigned digit = slowpath_click_digit(*at);
        if (digit >= base || digit > most || value > (most - digit) / base)
            return false;
        value = value * base + digit;
    }
    return true;
}

#define SLOWPATH_UNSIGNED(type)                                                                  \
    inline bool slowpath_click_parse(const String &text, type &value, unsigned base = 0) {       \
        uint64_t found;                                                                          \
        if (!slowpath_click_number(text, (type) ~(type) 0, found, base))                         \
            return false;                                                                        \
        value = found;                                                                           \
        return true;                                                                             \
    }
#define SLOWPATH_SIGNED(type)                                                                    \
    inline bool slowpath_click_parse(const String &text, type &value, unsigned base = 0) {       \
        bool negative = text.length() > 1 && text[0] == '-';                                     \
        uint64_t found, most = ((uint64_t) 1 << (8 * sizeof(type) - 1)) - !negative;             \
        if (!slowpath_click_number(negative ? text.substring(1) : text, most, found, base))      \
            return false;                                                                        \
        value = negative ? -(int64_t) found : (int64_t) found;                                   \
        return true;                                                                             \
    }
SLOWPATH_UNSIGNED(unsigned char)
SLOWPATH_UNSIGNED(unsigned short)
SLOWPATH_UNSIGNED(unsigned)
SLOWPATH_UNSIGNED(unsigned long)
SLOWPATH_UNSIGNED(unsigned long long)
SLOWPATH_SIGNED(signed char)
SLOWPATH_SIGNED(short)
SLOWPATH_SIGNED(int)
SLOWPATH_SIGNED(long)
SLOWPATH_SIGNED(long long)
#undef SLOWPATH_UNSIGNED
#undef SLOWPATH_SIGNED

inline bool slowpath_click_parse(const String &text, bool &value) {
    value = text == "true" || text == "1" || text == "yes";
    return value || text == "false" || text == "0" || text == "no";
}
inline bool slowpath_click_parse(const String &text, atomic_uint32_t &value) {
    uint32_t found;
    if (!slowpath_click_parse(text, found))
        return false;
    value = found;
    return true;
}
inline bool slowpath_click_parse(const String &text, char &value) {
    value = text.length() == 1 ? text[0] : 0;
    return value;
}
// Parses numbers with a separator, such as addresses.
inline bool slowpath_click_numbers(const String &text, char between, int base, int count,
                                   unsigned char *to) {
    int at = 0;
    for (int part = 0; part < count; part++) {
        if (part && (at >= text.length() || text[at++] != between))
            return false;
        int value = 0, digits = 0;
        for (; at < text.length() && digits < 3; at++, digits++) {
            char c = text[at] | 0x20;
            int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
            if (digit >= base)
                break;
            value = value * base + digit;
        }
        if (!digits || value > 255)
            return false;
        to[part] = value;
    }
    return at == text.length();
}
#ifdef SLOWPATH_GRAPH
// Addresses that AddressInfo of a configuration names, by their size: IPv4 addresses (4), Ethernet
// addresses (6), and IPv4 prefixes with their masks (8).
struct slowpath_click_address {
    char name[64];
    int size;
    unsigned char value[8];
};
#define SLOWPATH_ADDRESSES 128
extern "C" SLOWPATH_ONE slowpath_click_address slowpath_click_addresses[SLOWPATH_ADDRESSES] = {};
extern "C" SLOWPATH_ONE SLOWPATH_KEPT int slowpath_click_define(const char *name, int size,
                                                                const unsigned char *value) {
    for (int at = 0; at < SLOWPATH_ADDRESSES; at++) {
        slowpath_click_address &one = slowpath_click_addresses[at];
        if (one.size)
            continue;
        strncpy(one.name, name, sizeof one.name - 1);
        one.size = size;
        memcpy(one.value, value, size);
        return 0;
    }
    return -1;
}
inline bool slowpath_click_lookup(const String &text, int size, unsigned char *to) {
    for (int at = 0; at < SLOWPATH_ADDRESSES && slowpath_click_addresses[at].size; at++)
        if (slowpath_click_addresses[at].size == size && text == slowpath_click_addresses[at].name) {
            memcpy(to, slowpath_click_addresses[at].value, size);
            return true;
        }
    return false;
}
#else
inline bool slowpath_click_lookup(const String &, int, unsigned char *) { return false; }
#endif

inline bool slowpath_click_parse(const String &text, IPAddress &value) {
    unsigned char bytes[4];
    if (!slowpath_click_lookup(text, 4, bytes) && !slowpath_click_numbers(text, '.', 10, 4, bytes))
        return false;
    value = IPAddress(bytes);
    return true;
}
inline bool slowpath_click_parse(const String &text, struct in_addr &value) {
    IPAddress found;
    if (!slowpath_click_parse(text, found))
        return false;
    value = found;
    return true;
}
inline bool slowpath_click_parse(const String &text, EtherAddress &value) {
    char between = text.find_left('-') < 0 ? ':' : '-';
    if (slowpath_click_lookup(text, 6, value.data()))
        return true;
    return slowpath_click_numbers(text, between, 16, 6, value.data());
}
// Parses a decimal number in units of 10^-digits; finer digits are dropped.
inline bool slowpath_click_decimal(const String &text, int digits, int64_t &value) {
    bool negative = text.length() > 1 && text[0] == '-';
    int at = negative, seen = 0;
    value = 0;
    for (; at < text.length() && text[at] >= '0' && text[at] <= '9'; at++, seen++)
        if (__builtin_mul_overflow(value, 10, &value)
            || __builtin_add_overflow(value, text[at] - '0', &value))
            return false;
    bool fraction = at < text.length() && text[at] == '.';
    at += fraction;
    for (int place = 0; place < digits; place++) {
        bool more = fraction && at < text.length() && text[at] >= '0' && text[at] <= '9';
        if (__builtin_mul_overflow(value, 10, &value)
            || __builtin_add_overflow(value, more ? text[at] - '0' : 0, &value))
            return false;
        at += more;
        seen += more;
    }
    for (; fraction && at < text.length() && text[at] >= '0' && text[at] <= '9'; at++)
        seen++;
    value = negative ? -value : value;
    return seen && at == text.length();
}
// Parses a time with a unit ("ms", "us", "ns", "s", "m", "h"); seconds without one.
inline bool slowpath_click_seconds(const String &text, int digits, int64_t &value) {
    int end = text.length();
    while (end && text[end - 1] >= 'a' && text[end - 1] <= 'z')
        end--;
    String unit = text.substring(end), number = text.substring(0, end).trim_space();
    int finer = unit == "ms" || unit == "msec" ? 3 : unit == "us" || unit == "usec" ? 6
                : unit == "ns" || unit == "nsec" ? 9 : 0;
    int times = unit == "m" || unit == "min" ? 60 : unit == "h" || unit == "hr" ? 3600 : 1;
    if (!finer && times == 1 && unit && unit != "s" && unit != "sec")
        return false;
    if (!slowpath_click_decimal(number, digits > finer ? digits - finer : 0, value))
        return false;
    for (; finer > digits; finer--)
        value /= 10;
    value *= times;
    return true;
}
inline bool slowpath_click_parse(const String &text, Timestamp &value) {
    int64_t found;
    if (!slowpath_click_seconds(text, 9, found))
        return false;
    value = Timestamp::make_nsec(found);
    return true;
}
inline bool slowpath_click_parse(const String &text, double &value) {
    int64_t found;
    if (!slowpath_click_decimal(text, 6, found))
        return false;
    value = found / 1e6;
    return true;
}
#endif
