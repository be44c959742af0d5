// Elements of FastClick with state per flow. In FastClick, an earlier flow manager looks up the
// state; here each element has its own NIC table, by addresses and ports.
#ifndef SLOWPATH_CLICK_FLOW_FLOWELEMENT_HH
#define SLOWPATH_CLICK_FLOW_FLOWELEMENT_HH
#include <click/batchelement.hh>
#include <click/flow/flow.hh>
#include <click/ipflowid.hh>
#include <click/pair.hh>
#include <nic/table.hh>

class FlowElement : public BatchElement {
  public:
    virtual FlowType getContext(int) { return FLOW_NONE; }
    virtual bool stopClassifier() { return false; }
    void fcb_acquire(int = 1) {}
    void fcb_update(int) {}
    void fcb_release(int = 1) {}
};

class VirtualFlowSpaceElement : public FlowElement {
  public:
    virtual const size_t flow_data_size() const { return 0; }
    virtual const int flow_data_index() const { return -1; }
    int configure_phase() const { return CONFIGURE_PHASE_DEFAULT + 5; }
    void ctx_acquire_timeout(int) {}
    void ctx_release_timeout() {}
    void fcb_set_release_fnt(FlowReleaseChain *, SubFlowRealeaseFnt) {}
    void fcb_remove_release_fnt(FlowReleaseChain *, SubFlowRealeaseFnt) {}

  protected:
    // Returns addresses and ports for TCP and UDP; all other packets belong to one flow.
    static IPFlowID slowpath_flow(Packet *p) {
        if (!p->has_network_header())
            return IPFlowID();
        const click_ip *ip = p->ip_header();
        if ((ip->ip_p != 6 && ip->ip_p != 17) || (ip->ip_off & htons(0x1fff)))
            return IPFlowID(ip->ip_src, 0, ip->ip_dst, 0);
        return IPFlowID(p);
    }
};

// State of a new flow: zeros, whatever its constructor does.
template <class T> struct slowpath_click_zeros {
    alignas(T) unsigned char bytes[sizeof(T)];
    SLOWPATH_INLINE const T &value() const { return *(const T *) bytes; }
};

template <class T> class FlowSpaceElement : public VirtualFlowSpaceElement {
  public:
    FlowSpaceElement() : _flow(0) {}
    const size_t flow_data_size() const override { return sizeof(T); }
    SLOWPATH_INLINE T *fcb_data() { return _flow; }
    SLOWPATH_INLINE T *fcb_data_for(FlowControlBlock *) { return _flow; }
    void fcb_set_init_data(FlowControlBlock *, const T data) { *_flow = data; }
    void push_batch(int port, PacketBatch *packets) final {
        static const slowpath_click_zeros<T> fresh = {};
        _flow = &_flows.forced(slowpath_flow(packets->first()), fresh.value())->value;
        push_flow(port, _flow, packets);
    }
    virtual void push_flow(int port, T *flow, PacketBatch *packets) = 0;

  private:
    nic::Table<IPFlowID, T> _flows;
    T *_flow;
};

template <class T, int Index> class FlowSharedBufferElement : public FlowSpaceElement<T> {
  public:
    const int flow_data_index() const final { return Index; }
};
#define DefineFlowSharedBuffer(name, type, index)                                                \
    class FlowSharedBuffer##name##Element : public FlowSharedBufferElement<type, index> {}
DefineFlowSharedBuffer(Paint, int, 0);

// An element with state per flow; its new_flow() initialises the state, and close_flow() ends it.
template <class E, class T, class Checker = void>
class FlowStateElement : public VirtualFlowSpaceElement {
    struct State {
        T value;
        bool seen;
    };

  public:
    typedef FlowStateElement<E, T, Checker> derived;
    FlowStateElement() : _flow(0) {}
    const size_t flow_data_size() const override { return sizeof(State); }
    SLOWPATH_INLINE bool new_flow(T *, Packet *) { return true; }
    SLOWPATH_INLINE T *fcb_data() { return &_flow->value; }
    SLOWPATH_INLINE T *fcb_data_for(FlowControlBlock *) { return &_flow->value; }
    void push_batch(int port, PacketBatch *packets) {
        static const slowpath_click_zeros<State> fresh = {};
        _flow = &_flows.forced(slowpath_flow(packets->first()), fresh.value())->value;
        if (!_flow->seen && !static_cast<E *>(this)->new_flow(fcb_data(), packets->first())) {
            packets->fast_kill();
            return;
        }
        _flow->seen = true;
        static_cast<E *>(this)->push_flow(port, fcb_data(), packets);
    }
    void close_flow() { _flow->seen = false; }

  private:
    nic::Table<IPFlowID, State> _flows;
    State *_flow;
};

#define FLOW_ELEMENT_DEFINE_CONTEXT(context)                                                     \
    FlowType getContext(int) override { return context; }
#define FLOW_ELEMENT_DEFINE_SESSION_CONTEXT(rule, context) FLOW_ELEMENT_DEFINE_CONTEXT(context)
#define FLOW_ELEMENT_DEFINE_PORT_SESSION_CONTEXT(port, rule, context)                            \
    FLOW_ELEMENT_DEFINE_CONTEXT(context)
#define FLOW_ELEMENT_DEFINE_SESSION(rule) FLOW_ELEMENT_DEFINE_CONTEXT(FLOW_NONE)
#define FLOW_ELEMENT_DEFINE_SESSION_DUAL(one, other) FLOW_ELEMENT_DEFINE_CONTEXT(FLOW_NONE)
#define TCP_SESSION "TCP"
#define UDP_SESSION "UDP"
#define DEFAULT_4TUPLE "4-tuple"
#endif
