// What can be done with batches, by what was done with them: functions for Python.
#include <click/config.h>
#include <click/batchelement.hh>
#include <clicknet/ip6.h>

static char told[512];

static PacketBatch *made(int count) {
    slowpath_click_left();
    PacketBatch *batch = 0;
    int at = 0;
    auto next = [&]() -> Packet * { return at < count ? Packet::make(0, 0, 60 + at++, 0) : 0; };
    MAKE_BATCH(next(), batch, count);
    return batch;
}
static void tell(PacketBatch *batch) {
    char *at = told + strlen(told);
    at += snprintf(at, 64, "[%d:", batch ? (int) batch->count() : 0);
    if (batch) {
        FOR_EACH_PACKET(batch, p)
            at += snprintf(at, 64, " %d", (int) p->length() - 60);
        at += snprintf(at, 64, " | %d", (int) batch->tail()->length() - 60);
    }
    strcpy(at, "]");
}

extern "C" const char *row(const char *what, int count, int number) {
    told[0] = 0;
    PacketBatch *batch = made(count);
    if (!strcmp(what, "drop")) {
        auto keep = [=](Packet *p) { return (int) p->length() - 60 == number ? 0 : p; };
        EXECUTE_FOR_EACH_PACKET_DROP_LIST(keep, batch, dropped);
        tell(batch);
        tell(dropped);
    } else if (!strcmp(what, "split")) {
        auto keep = [=](Packet *p) { return (int) p->length() - 60 == number ? 0 : p; };
        EXECUTE_FOR_EACH_PACKET_SPLITTABLE(keep, batch, [](Packet *) {}, tell);
    } else if (!strcmp(what, "cut")) {
        PacketBatch *second = 0;
        batch->split(number, second);
        tell(batch);
        tell(second);
    } else if (!strcmp(what, "until")) {
        auto go_on = [=](Packet *&p) { return (int) p->length() - 60 != number; };
        EXECUTE_FOR_EACH_PACKET_UNTIL_DROP(go_on, batch);
        tell(batch);
    } else if (!strcmp(what, "join")) {
        PacketBatch *second = 0;
        batch->split(number, second);
        if (second)
            batch->append_batch(second);
        tell(batch);
    } else if (!strcmp(what, "double")) {
        auto twice = [](Packet *p, auto add) {
            Packet *other = p->clone();
            add(p);
            add(other);
        };
        EXECUTE_FOR_EACH_PACKET_ADD(twice, batch);
        tell(batch);
    } else if (!strcmp(what, "classes")) {
        auto by = [=](Packet *p) { return ((int) p->length() - 60) % number - 1; };
        auto done = [](int, PacketBatch *part) { tell(part); };
        CLASSIFY_EACH_PACKET_IGNORE(number, by, batch, done);
    }
    return told;
}

// The types of headers behind that of IPv6, with where they begin.
extern "C" const char *headers6(const unsigned char *packet, int length) {
    told[0] = 0;
    auto tell = [&](uint8_t type, unsigned char *at) {
        snprintf(told + strlen(told), 32, " %d@%d", type, (int) (at - packet));
        return strlen(told) < 100;
    };
    ip6_follow_eh((const click_ip6 *) packet, packet + length, tell);
    return told;
}
extern "C" unsigned little(const unsigned char *bytes) {
    uint16_t half;
    uint32_t word;
    memcpy(&half, bytes, 2);
    memcpy(&word, bytes, 4);
    return le16_to_cpu(half) == cpu_to_le16(half) ? le32_to_cpu(word) : 0;
}
