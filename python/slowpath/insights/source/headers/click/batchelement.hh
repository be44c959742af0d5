// Elements to which FastClick passes batches of packets. HAVE_BATCH is not defined, so elements
// that accept single packets get single packets. Elements that only accept batches get batches of
// one.
#ifndef CLICK_BATCHELEMENT_HH
#define CLICK_BATCHELEMENT_HH
#include <click/element.hh>
#include <click/ip6address.hh>
#include <click/master.hh>
#include <click/multithread.hh>
#include <click/packet_anno.hh>
#include <click/packetbatch.hh>
#include <click/routervisitor.hh>

#define BATCH_ELEMENT_DEFINE_SIMPLE_ACTION_BATCH(T)

class BatchElement : public Element {
  public:
    void push_batch(int port, PacketBatch *packets) override {
        packets = simple_action_batch(packets);
        if (packets)
            output_push_batch(port, packets);
    }
    PacketBatch *pull_batch(int port, unsigned most) override {
        PacketBatch *packets = input_pull_batch(port, most);
        return packets ? simple_action_batch(packets) : 0;
    }
    virtual PacketBatch *simple_action_batch(PacketBatch *packets) {
        EXECUTE_FOR_EACH_PACKET_DROPPABLE(simple_action, packets, [](Packet *) {});
        return packets;
    }
};

// An element whose `simple_action` has the packet type of the class T.
template <class T> class SimpleElement : public BatchElement {
  public:
    void push(int, Packet *p) override {
        p = static_cast<T *>(this)->simple_action(p);
        if (p)
            output(0).push(p);
    }
    Packet *pull(int) override {
        Packet *p = input(0).pull();
        return p ? static_cast<T *>(this)->simple_action(p) : 0;
    }
};
template <class T> class SimpleBatchElement : public SimpleElement<T> {};

// An element whose `classify` returns the output for a packet.
template <class T, class Base = BatchElement> class ClassifyElement : public Base {
  public:
    void push(int, Packet *p) override {
        this->checked_output_push(static_cast<T *>(this)->classify(p), p);
    }
};
#endif
