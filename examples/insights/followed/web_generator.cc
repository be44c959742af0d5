// ../web_generator.cc with the advice of the report followed: the struct in the order that it gives,
// sums by the engine; web_generator.json beside it says where state stands.
#include <click/config.h>
#include <click/args.hh>
#include <click/element.hh>
#include <click/hashmap.hh>
#include <nic/engine.h>
CLICK_DECLS

enum State { FREE, ASKED, OPEN, WAITING, CLOSING };

struct Client {
    uint32_t next;      // what we send next
    uint32_t expected;  // what we expect next
    uint8_t state;
    uint8_t retries;
    uint16_t window;
    uint32_t received;
    uint64_t opened;
    uint64_t last;
    uint32_t pages;
};
static_assert(sizeof(Client) == 40, "Client has another size");

class WebGenerator : public Element {
  public:
    WebGenerator() : _next_port(1024), _opened(0), _finished(0), _stray(0), _bytes(0) {}
    const char *class_name() const { return "WebGenerator"; }
    const char *port_count() const { return PORTS_1_1; }
    const char *processing() const { return PUSH; }

    int configure(Vector<String> &conf, ErrorHandler *errh) {
        return Args(conf, this, errh)
            .read_mp("CLIENT", _client)
            .read_mp("SERVER", _server)
            .complete();
    }
    void push(int port, Packet *p);

  private:
    void open();
    void react(Client &client, uint16_t port, const click_tcp *tcp, uint32_t length);
    void send(Client &client, uint16_t port, uint8_t flags, bool page);

    IPAddress _client;
    IPAddress _server;
    uint16_t _next_port;
    uint64_t _opened;
    uint64_t _finished;
    uint64_t _stray;
    uint64_t _bytes;
    HashMap<uint16_t, Client> _clients;
};

static const char page_request[] = "GET / HTTP/1.1\r\nHost: example.net\r\n\r\n";

void WebGenerator::send(Client &client, uint16_t port, uint8_t flags, bool page) {
    uint32_t payload = page ? sizeof page_request - 1 : 0;
    WritablePacket *p = Packet::make(14 + 40 + payload);
    if (!p)
        return;
    memset(p->data(), 0, 54);
    click_ip *ip = (click_ip *) (p->data() + 14);
    click_tcp *tcp = (click_tcp *) (ip + 1);
    ((click_ether *) p->data())->ether_type = htons(ETHERTYPE_IP);
    ip->ip_v = 4;
    ip->ip_hl = 5;
    ip->ip_len = htons(40 + payload);
    ip->ip_ttl = 64;
    ip->ip_p = IP_PROTO_TCP;
    ip->ip_src = _client.in_addr();
    ip->ip_dst = _server.in_addr();
    ip->ip_sum = nic_engine_checksum(ip, sizeof *ip);
    tcp->th_sport = htons(port);
    tcp->th_dport = htons(80);
    tcp->th_seq = htonl(client.next);
    tcp->th_ack = htonl(client.expected);
    tcp->th_off = 5;
    tcp->th_flags = flags;
    tcp->th_win = htons(client.window);
    if (page)
        memcpy(tcp + 1, page_request, payload);
    client.next += payload + (flags & (TH_SYN | TH_FIN) ? 1 : 0);
    output(0).push(p);
}

void WebGenerator::open() {
    uint16_t port = _next_port;
    _next_port = port == 65535 ? 1024 : port + 1;
    Client made = {};
    made.next = click_random();
    made.window = 65535;
    made.state = ASKED;
    made.opened = made.last = Timestamp::now().usecval();
    if (!_clients.insert(port, made))
        return;
    _opened++;
    send(*_clients.findp(port), port, TH_SYN, false);
}

void WebGenerator::react(Client &client, uint16_t port, const click_tcp *tcp, uint32_t length) {
    client.last = Timestamp::now().usecval();
    if (tcp->th_flags & TH_RST) {
        client.state = FREE;
    } else if (client.state == ASKED && tcp->th_flags & TH_SYN) {
        client.expected = ntohl(tcp->th_seq) + 1;
        client.state = WAITING;
        send(client, port, TH_ACK | TH_PUSH, true);
    } else if (client.state == WAITING && length) {
        client.expected += length;
        client.received += length;
        _bytes += length;
        if (tcp->th_flags & TH_FIN) {
            client.expected++;
            client.pages++;
            client.state = CLOSING;
            send(client, port, TH_ACK | TH_FIN, false);
        } else
            send(client, port, TH_ACK, false);
    } else if (client.state == CLOSING && tcp->th_flags & TH_ACK)
        client.state = FREE;
    else
        client.retries++;
    if (client.state == FREE) {
        _finished++;
        _clients.erase(port);
        open();
    }
}

void WebGenerator::push(int, Packet *p) {
    if (!p->has_network_header() || p->ip_header()->ip_p != IP_PROTO_TCP) {
        _stray++;
        p->kill();
        return;
    }
    const click_tcp *tcp = p->tcp_header();
    uint16_t port = ntohs(tcp->th_dport);
    Client *client = _clients.findp(port);
    if (client) {
        uint32_t length = ntohs(p->ip_header()->ip_len) - 20 - 4 * tcp->th_off;
        react(*client, port, tcp, length);
    } else if (_clients.size() < 256)
        open();
    else
        _stray++;
    p->kill();
}

CLICK_ENDDECLS
EXPORT_ELEMENT(WebGenerator)
