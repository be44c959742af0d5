// Databases of names for numbers, by kind of name; some names are built in.
#ifndef SLOWPATH_CLICK_NAMEINFO_HH
#define SLOWPATH_CLICK_NAMEINFO_HH
#include <click/parsing.hh>
#include <click/vector.hh>
#include <clicknet/icmp.h>
#include <clicknet/ip.h>

class Element;
class NameDB;

class NameInfo {
  public:
    // Kinds of ICMP codes, ports and transport fields are a base plus the message type or protocol.
    enum {
        T_NONE = 0,
        T_SCHEDULEINFO = 0x00010000,
        T_ANNOTATION = 0x00020000,
        T_SCRIPT_INSN = 0x00030000,
        T_SIGNO = 0x00040000,
        T_SPINLOCK = 0x00050000,
        T_ETHERNET_ADDR = 0x00100000,
        T_IP_ADDR = 0x01000000,
        T_IP_PREFIX = 0x01010000,
        T_IP_PROTO = 0x01020000,
        T_IPFILTER_TYPE = 0x01030000,
        T_TCP_OPT = 0x01040000,
        T_IPREWRITER_PATTERN = 0x01050000,
        T_ICMP_TYPE = 0x01060000,
        T_ICMP_CODE = 0x01070000,
        T_IP_PORT = 0x01080000,
        T_TCP_PORT = T_IP_PORT + IP_PROTO_TCP,
        T_UDP_PORT = T_IP_PORT + IP_PROTO_UDP,
        T_IP_FIELDNAME = 0x01090000,
        T_ICMP_FIELDNAME = T_IP_FIELDNAME + IP_PROTO_ICMP,
        T_TCP_FIELDNAME = T_IP_FIELDNAME + IP_PROTO_TCP,
        T_UDP_FIELDNAME = T_IP_FIELDNAME + IP_PROTO_UDP,
        T_IP6_ADDR = 0x02000000,
        T_IP6_PREFIX = 0x02010000
    };

    static inline bool query(uint32_t type, const Element *, const String &name, void *value,
                             size_t size);
    static inline String revquery(uint32_t type, const Element *, const void *value, size_t size);
    static inline bool define(uint32_t type, const Element *, const String &name,
                              const void *value, size_t size);
    static inline NameDB *getdb(uint32_t type, const Element *, size_t size, bool create);
    static inline void installdb(NameDB *db, const Element *);
    static inline void removedb(NameDB *db);

    // Looks up a name; numbers are accepted without a name.
    static bool query_int(uint32_t type, const Element *e, const String &name, int32_t *value) {
        return query(type, e, name, value, 4) || slowpath_click_parse(name, *value);
    }
    static bool query_int(uint32_t type, const Element *e, const String &name, uint32_t *value) {
        return query(type, e, name, value, 4) || slowpath_click_parse(name, *value);
    }
    static String revquery_int(uint32_t type, const Element *e, int32_t value) {
        return revquery(type, e, &value, 4);
    }
    static bool define_int(uint32_t type, const Element *e, const String &name, int32_t value) {
        return define(type, e, name, &value, 4);
    }
};

// The names of one kind.
class NameDB {
  public:
    NameDB(uint32_t type, const String &, size_t size) : _type(type), _size(size), _behind(0) {}
    virtual ~NameDB() {}
    uint32_t type() const { return _type; }
    size_t value_size() const { return _size; }
    virtual bool query(const String &name, void *value, size_t size) = 0;
    virtual String revquery(const void *, size_t) { return String(); }
    virtual bool define(const String &, const void *, size_t) { return false; }

  private:
    uint32_t _type;
    size_t _size;
    NameDB *_behind;
    friend class NameInfo;
};

class StaticNameDB : public NameDB {
  public:
    struct Entry {
        const char *name;
        uint32_t value;
    };
    StaticNameDB(uint32_t type, const String &prefix, const Entry *entries, size_t count)
        : NameDB(type, prefix, 4), _entries(entries), _count(count) {}
    bool query(const String &name, void *value, size_t size) {
        for (size_t at = 0; size == 4 && at < _count; at++)
            if (name == _entries[at].name) {
                memcpy(value, &_entries[at].value, 4);
                return true;
            }
        return false;
    }
    String revquery(const void *value, size_t size) {
        for (size_t at = 0; size == 4 && at < _count; at++)
            if (memcmp(value, &_entries[at].value, 4) == 0)
                return _entries[at].name;
        return String();
    }

  private:
    const Entry *_entries;
    size_t _count;
};

// Names that elements define, with values of at most 32 bytes.
class DynamicNameDB : public NameDB {
  public:
    enum { most = 32 };
    DynamicNameDB(uint32_t type, const String &prefix, size_t size) : NameDB(type, prefix, size) {}
    bool query(const String &name, void *value, size_t size) {
        const Defined *found = find(name);
        if (!found || size != found->size)
            return false;
        memcpy(value, found->value, size);
        return true;
    }
    String revquery(const void *value, size_t size) {
        for (int at = 0; at < _entries.size(); at++)
            if (size == _entries[at].size && memcmp(value, _entries[at].value, size) == 0)
                return _entries[at].name;
        return String();
    }
    bool define(const String &name, const void *value, size_t size) {
        if (size > most)
            return false;
        Defined *found = find(name);
        if (!found) {
            _entries.push_back(Defined());
            found = &_entries.back();
            found->name = name;
        }
        memcpy(found->value, value, size);
        found->size = size;
        return true;
    }

  private:
    struct Defined {
        String name;
        unsigned char value[most];
        size_t size;
    };
    Defined *find(const String &name) {
        for (int at = 0; at < _entries.size(); at++)
            if (_entries[at].name == name)
                return &_entries[at];
        return 0;
    }
    Vector<Defined, 64> _entries;
};

// Built-in names: protocols and ports (as IANA assigns them), and ICMP messages.
inline bool slowpath_click_known(uint32_t type, const String &name, uint32_t *value) {
    static const struct {
        uint32_t type;
        const char *name;
        uint32_t value;
    } known[] = {
        {NameInfo::T_IP_PROTO, "icmp", IP_PROTO_ICMP},
        {NameInfo::T_IP_PROTO, "igmp", IP_PROTO_IGMP},
        {NameInfo::T_IP_PROTO, "ipip", IP_PROTO_IPIP},
        {NameInfo::T_IP_PROTO, "tcp", IP_PROTO_TCP},
        {NameInfo::T_IP_PROTO, "udp", IP_PROTO_UDP},
        {NameInfo::T_IP_PROTO, "dccp", IP_PROTO_DCCP},
        {NameInfo::T_IP_PROTO, "gre", IP_PROTO_GRE},
        {NameInfo::T_IP_PROTO, "sctp", IP_PROTO_SCTP},
        {NameInfo::T_IP_PROTO, "tcpudp", IP_PROTO_TCP_OR_UDP},
        {NameInfo::T_IP_PROTO, "transp", IP_PROTO_TRANSP},
        {NameInfo::T_IP_PORT, "ftp-data", 20},
        {NameInfo::T_IP_PORT, "ftp", 21},
        {NameInfo::T_IP_PORT, "ssh", 22},
        {NameInfo::T_IP_PORT, "telnet", 23},
        {NameInfo::T_IP_PORT, "smtp", 25},
        {NameInfo::T_IP_PORT, "domain", 53},
        {NameInfo::T_IP_PORT, "dns", 53},
        {NameInfo::T_IP_PORT, "bootps", 67},
        {NameInfo::T_IP_PORT, "bootpc", 68},
        {NameInfo::T_IP_PORT, "tftp", 69},
        {NameInfo::T_IP_PORT, "finger", 79},
        {NameInfo::T_IP_PORT, "http", 80},
        {NameInfo::T_IP_PORT, "www", 80},
        {NameInfo::T_IP_PORT, "pop3", 110},
        {NameInfo::T_IP_PORT, "sunrpc", 111},
        {NameInfo::T_IP_PORT, "auth", 113},
        {NameInfo::T_IP_PORT, "nntp", 119},
        {NameInfo::T_IP_PORT, "ntp", 123},
        {NameInfo::T_IP_PORT, "imap", 143},
        {NameInfo::T_IP_PORT, "snmp", 161},
        {NameInfo::T_IP_PORT, "bgp", 179},
        {NameInfo::T_IP_PORT, "ldap", 389},
        {NameInfo::T_IP_PORT, "https", 443},
        {NameInfo::T_ICMP_TYPE, "echo", ICMP_ECHO},
        {NameInfo::T_ICMP_TYPE, "echo-reply", ICMP_ECHOREPLY},
        {NameInfo::T_ICMP_TYPE, "unreachable", ICMP_UNREACH},
        {NameInfo::T_ICMP_TYPE, "sourcequench", ICMP_SOURCEQUENCH},
        {NameInfo::T_ICMP_TYPE, "redirect", ICMP_REDIRECT},
        {NameInfo::T_ICMP_TYPE, "timeexceeded", ICMP_TIMXCEED},
        {NameInfo::T_ICMP_TYPE, "parameterproblem", ICMP_PARAMPROB},
        {NameInfo::T_ICMP_CODE + ICMP_UNREACH, "net", ICMP_UNREACH_NET},
        {NameInfo::T_ICMP_CODE + ICMP_UNREACH, "host", ICMP_UNREACH_HOST},
        {NameInfo::T_ICMP_CODE + ICMP_UNREACH, "protocol", ICMP_UNREACH_PROTOCOL},
        {NameInfo::T_ICMP_CODE + ICMP_UNREACH, "port", ICMP_UNREACH_PORT},
        {NameInfo::T_ICMP_CODE + ICMP_UNREACH, "needfrag", ICMP_UNREACH_NEEDFRAG},
        {NameInfo::T_ICMP_CODE + ICMP_TIMXCEED, "transit", ICMP_TIMXCEED_TRANSIT},
        {NameInfo::T_ICMP_CODE + ICMP_TIMXCEED, "reassembly", ICMP_TIMXCEED_REASSEMBLY},
        {NameInfo::T_ICMP_CODE + ICMP_PARAMPROB, "erroratptr", ICMP_PARAMPROB_ERRATPTR},
    };
    bool port = type >= NameInfo::T_IP_PORT && type < NameInfo::T_IP_PORT + 256;
    for (size_t at = 0; at < sizeof known / sizeof known[0]; at++)
        if (known[at].type == (port ? (uint32_t) NameInfo::T_IP_PORT : type)
            && name == known[at].name) {
            *value = known[at].value;
            return true;
        }
    return false;
}

extern "C" SLOWPATH_ONE NameDB *slowpath_click_named = 0;  // all installed databases

inline bool NameInfo::query(uint32_t type, const Element *, const String &name, void *value,
                            size_t size) {
    for (NameDB *at = slowpath_click_named; at; at = at->_behind)
        if (at->_type == type && at->query(name, value, size))
            return true;
    uint32_t found;
    if (size != 4 || !slowpath_click_known(type, name, &found))
        return false;
    memcpy(value, &found, 4);
    return true;
}
inline String NameInfo::revquery(uint32_t type, const Element *, const void *value, size_t size) {
    for (NameDB *at = slowpath_click_named; at; at = at->_behind)
        if (at->_type == type) {
            String found = at->revquery(value, size);
            if (found)
                return found;
        }
    return String();
}
inline void NameInfo::installdb(NameDB *db, const Element *) {
    db->_behind = slowpath_click_named;
    slowpath_click_named = db;
}
inline void NameInfo::removedb(NameDB *db) {
    for (NameDB **at = &slowpath_click_named; *at; at = &(*at)->_behind)
        if (*at == db) {
            *at = db->_behind;
            return;
        }
}
inline NameDB *NameInfo::getdb(uint32_t type, const Element *e, size_t size, bool create) {
    for (NameDB *at = slowpath_click_named; at; at = at->_behind)
        if (at->_type == type && at->_size == size)
            return at;
    if (!create)
        return 0;
    NameDB *made = new DynamicNameDB(type, String(), size);
    installdb(made, e);
    return made;
}
inline bool NameInfo::define(uint32_t type, const Element *e, const String &name,
                             const void *value, size_t size) {
    NameDB *db = getdb(type, e, size, false);
    if (db && db->define(name, value, size))
        return true;
    db = new DynamicNameDB(type, String(), size);
    installdb(db, e);
    return db->define(name, value, size);
}
#endif
