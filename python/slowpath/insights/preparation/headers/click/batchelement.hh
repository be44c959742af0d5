// Elements that FastClick gives batches of packets; here packets come one by one (no HAVE_BATCH).
#ifndef CLICK_BATCHELEMENT_HH
#define CLICK_BATCHELEMENT_HH
#include <click/element.hh>

#define BATCH_ELEMENT_DEFINE_SIMPLE_ACTION_BATCH(T)

class BatchElement : public Element {};

// An element whose simple_action has the type of the packets that the class T takes.
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

// An element whose classify says by which output a packet leaves.
template <class T, class Base = BatchElement> class ClassifyElement : public Base {
  public:
    void push(int, Packet *p) override {
        this->checked_output_push(static_cast<T *>(this)->classify(p), p);
    }
};
#endif
