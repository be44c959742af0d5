#ifndef COUNTING_HH
#define COUNTING_HH
#include <click/element.hh>

// What counts packets, and asks a class behind it which way they go.
class Counting : public Element {
  public:
    Counting();
    void push(int port, Packet *p);
    virtual int way(Packet *p) = 0;

  private:
    uint32_t _packets;
};
#endif
