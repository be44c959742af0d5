// State of the current flow, as FastClick's flow managers keep it.
#ifndef SLOWPATH_CLICK_FLOW_FLOW_HH
#define SLOWPATH_CLICK_FLOW_FLOW_HH
#include <click/element.hh>
#include <click/timestamp.hh>

enum FlowType {
    FLOW_NONE,
    FLOW_ETHER,
    FLOW_ARP,
    FLOW_IP,
    FLOW_TCP,
    FLOW_UDP,
    FLOW_ICMP,
    FLOW_HTTP
};

class FlowControlBlock;
typedef void (*SubFlowRealeaseFnt)(FlowControlBlock *, void *);

struct FlowReleaseChain {
    SubFlowRealeaseFnt previous_fnt;
    void *previous_thunk;
};

// Flows never end in a run.
class FlowControlBlock {
  public:
    void acquire(int = 1) {}
    void release(int = 1) {}
    int count() const { return 1; }
    void set_early_drop(bool drop = true) { _early_drop = drop; }
    bool is_early_drop() const { return _early_drop; }

    Timestamp lastseen;
    uint32_t flags;
    SubFlowRealeaseFnt release_fnt;
    void *thunk;

  private:
    bool _early_drop;
};
SLOWPATH_ONE FlowControlBlock slowpath_click_flow;
#define fcb_stack (&slowpath_click_flow)
#define debug_flow(...)
#define SFCB_STACK(...) { __VA_ARGS__ }
#define flow_assert(x)
#define sf_assert(x)
#define debug_flow_2(...)
#endif
