// Adds a number to the last byte of each packet, and counts packets.
#include "stamp.hh"
#include <click/args.hh>

int Stamp::configure(Vector<String> &conf, ErrorHandler *errh) {
    return Args(conf, this, errh).read_mp("NUMBER", _number).complete();
}

Packet *Stamp::simple_action(Packet *p) {
    WritablePacket *q = p->uniqueify();
    if (q->length())
        q->data()[q->length() - 1] += _number;
    _seen++;
    return q;
}

EXPORT_ELEMENT(Stamp)
