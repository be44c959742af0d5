// Packets in buffers of a fixed size; clones are copies, so every packet is writable.
#ifndef SLOWPATH_CLICK_PACKET_HH
#define SLOWPATH_CLICK_PACKET_HH
#include <click/ipaddress.hh>
#include <click/timestamp.hh>
#include <clicknet/ether.h>
#include <clicknet/icmp.h>
#include <clicknet/ip.h>
#include <clicknet/ip6.h>
#include <clicknet/tcp.h>
#include <clicknet/udp.h>

// Limit on packets at the same time: the arriving one, and those that elements create from it.
#ifndef SLOWPATH_PACKETS
#define SLOWPATH_PACKETS 16
#endif
#define SLOWPATH_BUFFER 16384
#define SLOWPATH_HEADROOM 128

extern "C" SLOWPATH_ONE unsigned char slowpath_click_bytes[SLOWPATH_PACKETS][SLOWPATH_BUFFER] = {};

class WritablePacket;

class Packet {
  public:
    enum { default_headroom = SLOWPATH_HEADROOM, min_buffer_length = 64, anno_size = 48 };
    enum PacketType { HOST, BROADCAST, MULTICAST, OTHERHOST, OUTGOING, LOOPBACK, FASTROUTE };
    enum { dst_ip_anno_offset = 0, dst_ip_anno_size = 4 };

    static inline WritablePacket *make(uint32_t headroom, const void *data, uint32_t length,
                                       uint32_t tailroom);
    static inline WritablePacket *make(const void *data, uint32_t length);
    static inline WritablePacket *make(uint32_t length);
    inline Packet *clone();
    SLOWPATH_INLINE WritablePacket *uniqueify();
    SLOWPATH_INLINE bool shared() const { return false; }
    SLOWPATH_KEPT void kill() {
        slowpath_click_totals.killed++;
        _used = false;
    }
    SLOWPATH_INLINE void kill_nonatomic() { kill(); }
    // FastClick's fast paths for packets with a single owner.
    SLOWPATH_INLINE Packet *clone(bool) { return clone(); }
    SLOWPATH_INLINE Packet *duplicate() { return clone(); }
    SLOWPATH_INLINE bool data_is_dpdk_packet() const { return false; }
    SLOWPATH_INLINE void reset_buffer() {}
    // Counts the packets from this one to the end of a list.
    int find_count() const {
        int count = 0;
        for (const Packet *at = this; at; at = at->_next)
            count++;
        return count;
    }

    SLOWPATH_INLINE const unsigned char *data() const { return _data; }
    SLOWPATH_INLINE const unsigned char *end_data() const { return _data + _length; }
    SLOWPATH_INLINE uint32_t length() const { return _length; }
    SLOWPATH_INLINE const unsigned char *buffer() const { return _buffer; }
    SLOWPATH_INLINE uint32_t headroom() const { return _data - _buffer; }
    SLOWPATH_INLINE uint32_t tailroom() const { return _buffer + SLOWPATH_BUFFER - end_data(); }

    SLOWPATH_INLINE WritablePacket *push(uint32_t length);
    SLOWPATH_INLINE Packet *nonunique_push(uint32_t length) {
        if (length > headroom())
            slowpath_click_buffer_is_full();
        _data -= length;
        _length += length;
        return this;
    }
    SLOWPATH_INLINE WritablePacket *push_mac_header(uint32_t length);
    SLOWPATH_INLINE void pull(uint32_t length) {
        _data += length;
        _length -= length;
    }
    SLOWPATH_INLINE WritablePacket *put(uint32_t length);
    SLOWPATH_INLINE Packet *nonunique_put(uint32_t length) {
        if (length > tailroom())
            slowpath_click_buffer_is_full();
        _length += length;
        return this;
    }
    // Moves the data within the buffer by `offset` bytes.
    Packet *shift_data(int offset, bool = true) {
        if (offset < 0 ? (uint32_t) -offset > headroom() : (uint32_t) offset > tailroom())
            slowpath_click_buffer_is_full();
        memmove(_data + offset, _data, _length);
        _data += offset;
        _mac = _mac ? _mac + offset : 0;
        _network = _network ? _network + offset : 0;
        _transport = _transport ? _transport + offset : 0;
        return this;
    }
    SLOWPATH_INLINE void take(uint32_t length) { _length -= length; }

    SLOWPATH_INLINE bool has_mac_header() const { return _mac; }
    SLOWPATH_INLINE bool has_network_header() const { return _network; }
    SLOWPATH_INLINE bool has_transport_header() const { return _transport; }
    SLOWPATH_INLINE const unsigned char *mac_header() const { return _mac; }
    SLOWPATH_INLINE const unsigned char *network_header() const { return _network; }
    SLOWPATH_INLINE const unsigned char *transport_header() const { return _transport; }
    SLOWPATH_INLINE int mac_header_offset() const { return _mac - _data; }
    SLOWPATH_INLINE uint32_t mac_header_length() const { return _network - _mac; }
    SLOWPATH_INLINE int network_header_offset() const { return _network - _data; }
    SLOWPATH_INLINE int transport_header_offset() const { return _transport - _data; }
    SLOWPATH_INLINE uint32_t network_header_length() const { return _transport - _network; }
    SLOWPATH_INLINE int network_length() const { return end_data() - _network; }
    SLOWPATH_INLINE int transport_length() const { return end_data() - _transport; }
    SLOWPATH_INLINE const click_ether *ether_header() const { return (const click_ether *) _mac; }
    SLOWPATH_INLINE const click_ip *ip_header() const { return (const click_ip *) _network; }
    SLOWPATH_INLINE const click_ip6 *ip6_header() const { return (const click_ip6 *) _network; }
    SLOWPATH_INLINE const click_tcp *tcp_header() const { return (const click_tcp *) _transport; }
    SLOWPATH_INLINE const click_udp *udp_header() const { return (const click_udp *) _transport; }
    SLOWPATH_INLINE const click_icmp *icmp_header() const { return (const click_icmp *) _transport; }
    SLOWPATH_INLINE int ip_header_offset() const { return network_header_offset(); }
    SLOWPATH_INLINE uint32_t ip_header_length() const { return network_header_length(); }

    SLOWPATH_INLINE void set_mac_header(const unsigned char *at) { _mac = (unsigned char *) at; }
    SLOWPATH_INLINE void set_mac_header(const unsigned char *at, uint32_t length) {
        _mac = (unsigned char *) at;
        _network = _mac + length;
    }
    SLOWPATH_INLINE void set_ether_header(const click_ether *at) {
        set_mac_header((const unsigned char *) at, 14);
    }
    SLOWPATH_INLINE void set_network_header(const unsigned char *at, uint32_t length) {
        _network = (unsigned char *) at;
        _transport = _network + length;
    }
    SLOWPATH_INLINE void set_network_header_length(uint32_t length) {
        _transport = _network + length;
    }
    SLOWPATH_INLINE void set_ip6_header(const click_ip6 *at, uint32_t length = 40) {
        set_network_header((const unsigned char *) at, length);
    }
    SLOWPATH_INLINE void set_ip_header(const click_ip *at, uint32_t length) {
        set_network_header((const unsigned char *) at, length);
    }
    SLOWPATH_INLINE void clear_mac_header() { _mac = 0; }
    SLOWPATH_INLINE void clear_network_header() { _network = 0; }
    SLOWPATH_INLINE void clear_transport_header() { _transport = 0; }

    SLOWPATH_INLINE const Timestamp &timestamp_anno() const { return _time; }
    SLOWPATH_INLINE Timestamp &timestamp_anno() { return _time; }
    SLOWPATH_INLINE void set_timestamp_anno(const Timestamp &x) { _time = x; }
    SLOWPATH_INLINE PacketType packet_type_anno() const { return _type; }
    SLOWPATH_INLINE void set_packet_type_anno(PacketType x) { _type = x; }
    SLOWPATH_INLINE IPAddress dst_ip_anno() const { return IPAddress(anno_u32(0)); }
    SLOWPATH_INLINE void set_dst_ip_anno(IPAddress x) { set_anno_u32(0, x.addr()); }

    SLOWPATH_INLINE uint8_t *anno_u8() { return _anno.u8; }
    SLOWPATH_INLINE const uint8_t *anno_u8() const { return _anno.u8; }
    SLOWPATH_INLINE uint8_t anno_u8(int at) const { return _anno.u8[at]; }
    SLOWPATH_INLINE void set_anno_u8(int at, uint8_t x) { _anno.u8[at] = x; }
    SLOWPATH_INLINE uint16_t *anno_u16() { return _anno.u16; }
    SLOWPATH_INLINE const uint16_t *anno_u16() const { return _anno.u16; }
    SLOWPATH_INLINE uint16_t anno_u16(int at) const { return _anno.u16[at / 2]; }
    SLOWPATH_INLINE void set_anno_u16(int at, uint16_t x) { _anno.u16[at / 2] = x; }
    SLOWPATH_INLINE uint32_t *anno_u32() { return _anno.u32; }
    SLOWPATH_INLINE const uint32_t *anno_u32() const { return _anno.u32; }
    SLOWPATH_INLINE uint32_t anno_u32(int at) const { return _anno.u32[at / 4]; }
    SLOWPATH_INLINE void set_anno_u32(int at, uint32_t x) { _anno.u32[at / 4] = x; }
    SLOWPATH_INLINE int32_t anno_s32(int at) const { return _anno.u32[at / 4]; }
    SLOWPATH_INLINE void set_anno_s32(int at, int32_t x) { _anno.u32[at / 4] = x; }
    SLOWPATH_INLINE uint64_t *anno_u64() { return _anno.u64; }
    SLOWPATH_INLINE const uint64_t *anno_u64() const { return _anno.u64; }
    SLOWPATH_INLINE uint64_t anno_u64(int at) const { return _anno.u64[at / 8]; }
    SLOWPATH_INLINE void set_anno_u64(int at, uint64_t x) { _anno.u64[at / 8] = x; }
    SLOWPATH_INLINE unsigned char *anno() { return _anno.u8; }
    SLOWPATH_INLINE const unsigned char *anno() const { return _anno.u8; }
    SLOWPATH_INLINE void copy_annotations(const Packet *p) {
        _anno = p->_anno;
        _type = p->_type;
        _time = p->_time;
    }
    SLOWPATH_INLINE void *device_anno() const { return 0; }
    SLOWPATH_INLINE void set_device_anno(void *) {}
    // Links of a list of packets, for the element that keeps them.
    SLOWPATH_INLINE Packet *next() const { return _next; }
    SLOWPATH_INLINE Packet *prev() const { return _prev; }
    SLOWPATH_INLINE Packet *&next() { return _next; }
    SLOWPATH_INLINE Packet *&prev() { return _prev; }
    SLOWPATH_INLINE void set_next(Packet *p) { _next = p; }
    SLOWPATH_INLINE void set_prev(Packet *p) { _prev = p; }
    SLOWPATH_INLINE void clear_annotations() { memset(&_anno, 0, sizeof _anno); }

    unsigned char *_buffer;
    unsigned char *_data;
    unsigned char *_mac;
    unsigned char *_network;
    unsigned char *_transport;
    uint32_t _length;
    bool _used;
    PacketType _type;
    uint32_t _count;  // number of packets of a batch, in its first packet
    Timestamp _time;
    union {
        uint8_t u8[anno_size];
        uint16_t u16[anno_size / 2];
        uint32_t u32[anno_size / 4];
        uint64_t u64[anno_size / 8];
    } _anno;
    Packet *_next;
    Packet *_prev;
};

class WritablePacket : public Packet {
  public:
    static void pool_transfer(int, int) {}
    SLOWPATH_INLINE unsigned char *data() const { return _data; }
    SLOWPATH_INLINE unsigned char *end_data() const { return _data + _length; }
    SLOWPATH_INLINE unsigned char *buffer() const { return _buffer; }
    SLOWPATH_INLINE unsigned char *mac_header() const { return _mac; }
    SLOWPATH_INLINE unsigned char *network_header() const { return _network; }
    SLOWPATH_INLINE unsigned char *transport_header() const { return _transport; }
    SLOWPATH_INLINE click_ether *ether_header() const { return (click_ether *) _mac; }
    SLOWPATH_INLINE click_ip *ip_header() const { return (click_ip *) _network; }
    SLOWPATH_INLINE click_ip6 *ip6_header() const { return (click_ip6 *) _network; }
    SLOWPATH_INLINE click_tcp *tcp_header() const { return (click_tcp *) _transport; }
    SLOWPATH_INLINE click_udp *udp_header() const { return (click_udp *) _transport; }
    SLOWPATH_INLINE click_icmp *icmp_header() const { return (click_icmp *) _transport; }
};

extern "C" SLOWPATH_ONE unsigned char slowpath_click_packets[SLOWPATH_PACKETS][sizeof(Packet)]
    __attribute__((aligned(16))) = {};

// Returns a free buffer; 0 if none is left.
extern "C" SLOWPATH_ONE SLOWPATH_KEPT void *slowpath_click_take(uint32_t headroom, uint32_t length) {
    if (headroom > SLOWPATH_BUFFER || length > SLOWPATH_BUFFER - headroom)
        return 0;
    for (unsigned at = 0; at < SLOWPATH_PACKETS; at++) {
        WritablePacket *packet = (WritablePacket *) slowpath_click_packets[at];
        if (packet->_used)
            continue;
        packet->_used = true;
        packet->_buffer = slowpath_click_bytes[at];
        packet->_data = packet->_buffer + headroom;
        packet->_length = length;
        packet->_mac = packet->_network = packet->_transport = 0;
        packet->_time = Timestamp();
        packet->_type = Packet::HOST;
        packet->_next = 0;
        packet->_prev = packet;
        packet->_count = 1;
        packet->clear_annotations();
        return packet;
    }
    return 0;
}

inline WritablePacket *Packet::make(uint32_t headroom, const void *data, uint32_t length,
                                    uint32_t tailroom) {
    (void) tailroom;
    WritablePacket *made = (WritablePacket *) slowpath_click_take(headroom, length);
    if (!made) {
        slowpath_click_totals.unmade++;
        return 0;
    }
    slowpath_click_totals.made++;
    if (data)
        memcpy(made->data(), data, length);
    return made;
}
inline WritablePacket *Packet::make(const void *data, uint32_t length) {
    return make(default_headroom, data, length, 0);
}
inline WritablePacket *Packet::make(uint32_t length) {
    return make(default_headroom, 0, length, 0);
}
inline Packet *Packet::clone() {
    WritablePacket *made = make(headroom(), _data, _length, 0);
    if (!made)
        return 0;
    made->_mac = _mac ? made->_data + (_mac - _data) : 0;
    made->_network = _network ? made->_data + (_network - _data) : 0;
    made->_transport = _transport ? made->_data + (_transport - _data) : 0;
    made->_time = _time;
    made->_type = _type;
    made->_anno = _anno;
    return made;
}
SLOWPATH_INLINE WritablePacket *Packet::uniqueify() { return static_cast<WritablePacket *>(this); }
SLOWPATH_INLINE WritablePacket *Packet::push(uint32_t length) {
    nonunique_push(length);
    return uniqueify();
}
SLOWPATH_INLINE WritablePacket *Packet::push_mac_header(uint32_t length) {
    nonunique_push(length);
    _mac = _data;
    return uniqueify();
}
SLOWPATH_INLINE WritablePacket *Packet::put(uint32_t length) {
    if (length > tailroom())
        slowpath_click_buffer_is_full();
    _length += length;
    return uniqueify();
}

// Delivers a packet of the trace: removes `strip` bytes, and sets the header annotations as earlier
// elements would, behind VLAN tags and only for IPv4.
extern "C" SLOWPATH_ONE SLOWPATH_KEPT void *slowpath_click_arrive(const unsigned char *bytes,
                                                                  uint32_t captured,
                                                                  uint32_t length, uint64_t now,
                                                                  uint32_t strip) {
    slowpath_click_now = now;
    WritablePacket *packet = (WritablePacket *) slowpath_click_take(SLOWPATH_HEADROOM, length);
    if (!packet)
        return 0;
    memcpy(packet->_data, bytes, captured);
    memset(packet->_data + captured, 0, length - captured);
    packet->_time = Timestamp::make_nsec((int64_t) now);
    packet->_mac = packet->_data;
#ifdef SLOWPATH_GRAPH  // no earlier element has read the headers
    (void) strip;
    return packet;
#endif
    uint32_t at = 12;
    while (at + 2 <= captured && bytes[at] == 0x81 && bytes[at + 1] == 0)
        at += 4;
    if (at + 2 + 20 <= captured && bytes[at] == 8 && bytes[at + 1] == 0) {
        packet->_network = packet->_data + at + 2;
        packet->_transport = packet->_network + 4 * (*packet->_network & 15);
        uint32_t address;
        memcpy(&address, packet->_network + 16, 4);
        packet->set_anno_u32(0, address);
    }
    packet->pull(strip < length ? strip : length);
    return packet;
}

// Does the same on a card, without copying: sets the annotations of a packet that begins with
// Ethernet and IPv4 headers.
extern "C" SLOWPATH_ONE SLOWPATH_KEPT void slowpath_click_receive(Packet *packet,
                                                                  unsigned char *data,
                                                                  unsigned char *end) {
    packet->_buffer = packet->_data = packet->_mac = data;
    packet->_network = data + 14;
    packet->_transport = packet->_network + 4 * (*packet->_network & 15);
    packet->_length = end - data;
    packet->_used = true;
    packet->_time = Timestamp();
    packet->_type = Packet::HOST;
    packet->_next = 0;
    packet->_prev = packet;
    packet->_count = 1;
    packet->clear_annotations();
}

// Returns how many packets are left, and frees all buffers.
extern "C" SLOWPATH_ONE SLOWPATH_KEPT uint32_t slowpath_click_left() {
    uint32_t left = 0;
    for (unsigned at = 0; at < SLOWPATH_PACKETS; at++) {
        Packet *packet = (Packet *) slowpath_click_packets[at];
        left += packet->_used;
        packet->_used = false;
    }
    return left;
}
#endif
