#include <click/config.h>
#include "counting.hh"

Counting::Counting() : _packets(0) {}
void Counting::push(int, Packet *p) {
    _packets++;
    checked_output_push(way(p), p);
}

ELEMENT_PROVIDES(Counting)
