// FastClick's batches: lists of packets whose first packet has the last one and the count. A packet
// of the trace is a batch of one.
#ifndef SLOWPATH_CLICK_PACKETBATCH_HH
#define SLOWPATH_CLICK_PACKETBATCH_HH
#include <click/packet.hh>

#define BATCH_MAX_PULL 256

class PacketBatch : public WritablePacket {
  public:
    SLOWPATH_INLINE static PacketBatch *start_head(Packet *p) { return (PacketBatch *) p; }
    SLOWPATH_INLINE static PacketBatch *make_from_packet(Packet *p) {
        return p ? make_from_simple_list(p, p, 1) : 0;
    }
    SLOWPATH_INLINE static PacketBatch *make_from_simple_list(Packet *first, Packet *last,
                                                              unsigned count) {
        return start_head(first)->make_tail(last, count);
    }
    static PacketBatch *make_from_simple_list(Packet *first) {
        unsigned count = 1;
        Packet *last = first;
        for (; last && last->next(); last = last->next())
            count++;
        return first ? make_from_simple_list(first, last, count) : 0;
    }
    SLOWPATH_INLINE static PacketBatch *make_from_tailed_list(Packet *first, unsigned count) {
        start_head(first)->set_count(count);
        return start_head(first);
    }
    SLOWPATH_INLINE PacketBatch *make_tail(Packet *last, unsigned count) {
        set_tail(last ? last : this);
        set_count(count);
        tail()->set_next(0);
        return this;
    }

    SLOWPATH_INLINE Packet *first() { return this; }
    SLOWPATH_INLINE Packet *tail() { return prev(); }
    SLOWPATH_INLINE void set_tail(Packet *p) { set_prev(p); }
    SLOWPATH_INLINE unsigned count() const { return _count; }
    SLOWPATH_INLINE void set_count(unsigned count) { _count = count; }
    SLOWPATH_INLINE Packet *begin() { return this; }
    SLOWPATH_INLINE Packet *end() { return 0; }
    SLOWPATH_INLINE void append_simple_list(Packet *head, Packet *last, unsigned count) {
        tail()->set_next(head);
        last->set_next(0);
        set_tail(last);
        _count += count;
    }
    SLOWPATH_INLINE void append_packet(Packet *p) { append_simple_list(p, p, 1); }
    SLOWPATH_INLINE void append_batch(PacketBatch *x) {
        append_simple_list(x, x->tail(), x->count());
    }

    // Splits the batch after `last`, its packet number `count`; the rest becomes a batch.
    void cut(Packet *last, int count, PacketBatch *&second) {
        second = start_head(last->next());
        if (!second)
            return;
        second->make_tail(tail(), _count - count);
        make_tail(last, count);
    }
    void split(int count, PacketBatch *&second, bool = false) {
        Packet *last = this;
        int at = 1;
        for (; at < count && last->next(); at++)
            last = last->next();
        cut(last, at, second);
    }
    PacketBatch *split(int count) {
        PacketBatch *second = 0;
        split(count, second);
        return second;
    }
    static void pop_front(PacketBatch *&batch) {
        Packet *next = batch->next(), *last = batch->tail();
        unsigned left = batch->count() - 1;
        batch = next ? make_from_simple_list(next, last, left) : 0;
    }
    void kill() {
        for (Packet *at = this, *next; at; at = next) {
            next = at->next();
            at->Packet::kill();
        }
    }
    void fast_kill() { kill(); }
    void fast_kill_nonatomic() { kill(); }
    void recycle_batch(bool) { kill(); }
    inline PacketBatch *clone_batch(bool = false, bool = false);
};

// A batch under construction, initially all zeros.
struct slowpath_click_row {
    Packet *first, *last;
    unsigned count;

    SLOWPATH_INLINE void add(Packet *p) {
        if (last)
            last->set_next(p);
        else
            first = p;
        last = p;
        count++;
    }
    SLOWPATH_INLINE PacketBatch *made() {
        return first ? PacketBatch::make_from_simple_list(first, last, count) : 0;
    }
};

inline PacketBatch *PacketBatch::clone_batch(bool, bool) {
    slowpath_click_row row = {};
    for (Packet *at = this; at; at = at->next())
        if (Packet *made = at->clone())
            row.add(made);
    return row.made();
}

#define FOR_EACH_PACKET_LL(head, p) for (Packet *p = (head); p; p = p->next())
#define FOR_EACH_PACKET(packets, p) FOR_EACH_PACKET_LL((packets)->first(), p)
#define FOR_EACH_PACKET_LL_SAFE(head, p)                                                         \
    for (Packet *p = (head), *slowpath_next_##p = p ? p->next() : 0; p;                          \
         p = slowpath_next_##p, slowpath_next_##p = p ? p->next() : 0)
#define FOR_EACH_PACKET_SAFE(packets, p) FOR_EACH_PACKET_LL_SAFE((packets)->first(), p)

// Replaces each packet by the result of a function; 0 drops the packet.
#define EXECUTE_FOR_EACH_PACKET_DROPPABLE(does, packets, on_drop)                                \
    {                                                                                            \
        slowpath_click_row slowpath_row = {};                                                    \
        for (Packet *slowpath_at = (packets), *slowpath_behind; slowpath_at;                     \
             slowpath_at = slowpath_behind) {                                                    \
            slowpath_behind = slowpath_at->next();                                               \
            Packet *slowpath_made = does(slowpath_at);                                           \
            if (slowpath_made)                                                                   \
                slowpath_row.add(slowpath_made);                                                 \
            else                                                                                 \
                on_drop(slowpath_at);                                                            \
        }                                                                                        \
        packets = slowpath_row.made();                                                           \
    }
#define EXECUTE_FOR_EACH_PACKET(does, packets)                                                   \
    EXECUTE_FOR_EACH_PACKET_DROPPABLE(does, packets, [](Packet *) {})
#define EXECUTE_FOR_EACH_PACKET_DROP_LIST(does, packets, dropped)                                \
    PacketBatch *dropped = 0;                                                                    \
    {                                                                                            \
        slowpath_click_row slowpath_dropped = {};                                                \
        auto slowpath_drop = [&slowpath_dropped](Packet *p) { slowpath_dropped.add(p); };        \
        EXECUTE_FOR_EACH_PACKET_DROPPABLE(does, packets, slowpath_drop);                         \
        dropped = slowpath_dropped.made();                                                       \
    }
// Replaces each packet by the result of a function; 0 ends the current batch, which is flushed.
#define EXECUTE_FOR_EACH_PACKET_SPLITTABLE(does, packets, on_drop, on_flush)                     \
    {                                                                                            \
        slowpath_click_row slowpath_row = {};                                                    \
        for (Packet *slowpath_at = (packets), *slowpath_behind; slowpath_at;                     \
             slowpath_at = slowpath_behind) {                                                    \
            slowpath_behind = slowpath_at->next();                                               \
            Packet *slowpath_made = does(slowpath_at);                                           \
            if (slowpath_made) {                                                                 \
                slowpath_row.add(slowpath_made);                                                 \
                continue;                                                                        \
            }                                                                                    \
            if (PacketBatch *slowpath_full = slowpath_row.made())                                \
                on_flush(slowpath_full);                                                         \
            slowpath_row = {};                                                                   \
            on_drop(slowpath_at);                                                                \
        }                                                                                        \
        if (PacketBatch *slowpath_full = slowpath_row.made())                                    \
            on_flush(slowpath_full);                                                             \
    }
// Calls a function for each packet; it adds replacements through its second argument.
#define EXECUTE_FOR_EACH_PACKET_ADD(does, packets)                                               \
    {                                                                                            \
        slowpath_click_row slowpath_row = {};                                                    \
        auto slowpath_add = [&slowpath_row](Packet *p) { slowpath_row.add(p); };                 \
        for (Packet *slowpath_at = (packets), *slowpath_behind; slowpath_at;                     \
             slowpath_at = slowpath_behind) {                                                    \
            slowpath_behind = slowpath_at->next();                                               \
            does(slowpath_at, slowpath_add);                                                     \
        }                                                                                        \
        packets = slowpath_row.made();                                                           \
    }
// Calls a function for each packet until it returns false; it may replace the packet. Then
// `on_stop` gets the batch so far, the packet and the next one.
#define EXECUTE_FOR_EACH_PACKET_UNTIL_DO(does, packets, on_stop)                                 \
    {                                                                                            \
        PacketBatch *slowpath_whole = (packets);                                                 \
        Packet *slowpath_last = 0;                                                               \
        for (Packet *slowpath_at = slowpath_whole, *slowpath_behind; slowpath_at;                \
             slowpath_at = slowpath_behind) {                                                    \
            slowpath_behind = slowpath_at->next();                                               \
            Packet *slowpath_made = slowpath_at;                                                 \
            bool slowpath_on = does(slowpath_made);                                              \
            if (slowpath_last)                                                                   \
                slowpath_last->set_next(slowpath_made);                                          \
            else if (slowpath_made != slowpath_at)                                               \
                packets = PacketBatch::make_from_simple_list(                                    \
                    slowpath_made,                                                               \
                    slowpath_whole->tail() == slowpath_at ? slowpath_made                        \
                                                          : slowpath_whole->tail(),              \
                    slowpath_whole->count());                                                    \
            slowpath_made->set_next(slowpath_behind);                                            \
            slowpath_last = slowpath_made;                                                       \
            if (!slowpath_on) {                                                                  \
                on_stop(packets, slowpath_made, slowpath_behind);                                \
                break;                                                                           \
            }                                                                                    \
        }                                                                                        \
    }
inline void slowpath_click_kill_all(PacketBatch *&packets, Packet *, Packet *) {
    packets->kill();
    packets = 0;
}
inline void slowpath_click_kill_rest(PacketBatch *&packets, Packet *last, Packet *next) {
    if (!next)
        return;
    PacketBatch *rest = PacketBatch::make_from_simple_list(next);
    packets->make_tail(last, packets->count() - rest->count());
    rest->kill();
}
#define EXECUTE_FOR_EACH_PACKET_UNTIL(does, packets)                                             \
    EXECUTE_FOR_EACH_PACKET_UNTIL_DO(does, packets, slowpath_click_kill_all)
#define EXECUTE_FOR_EACH_PACKET_UNTIL_DROP(does, packets)                                        \
    EXECUTE_FOR_EACH_PACKET_UNTIL_DO(does, packets, slowpath_click_kill_rest)

// Distributes packets to batches by the index that a function returns; others go to the last batch.
#define SLOWPATH_CLASSIFY(batches, does, packets, on_finish, least)                              \
    {                                                                                            \
        slowpath_click_row slowpath_rows[(batches)];                                             \
        memset((void *) slowpath_rows, 0, sizeof slowpath_rows);                                 \
        for (Packet *slowpath_at = (packets), *slowpath_behind; slowpath_at;                     \
             slowpath_at = slowpath_behind) {                                                    \
            slowpath_behind = slowpath_at->next();                                               \
            int slowpath_to = does(slowpath_at);                                                 \
            if (slowpath_to < (least))                                                           \
                continue;                                                                        \
            if (slowpath_to < 0 || slowpath_to >= (int) (batches))                               \
                slowpath_to = (batches) - 1;                                                     \
            slowpath_rows[slowpath_to].add(slowpath_at);                                         \
        }                                                                                        \
        for (int slowpath_of = 0; slowpath_of < (int) (batches); slowpath_of++)                  \
            if (PacketBatch *slowpath_full = slowpath_rows[slowpath_of].made())                  \
                on_finish(slowpath_of, slowpath_full);                                           \
    }
#define CLASSIFY_EACH_PACKET(batches, does, packets, on_finish)                                  \
    SLOWPATH_CLASSIFY(batches, does, packets, on_finish, INT_MIN)
// Like CLASSIFY_EACH_PACKET, but the function keeps packets for which it returns a negative number.
#define CLASSIFY_EACH_PACKET_IGNORE(batches, does, packets, on_finish)                           \
    SLOWPATH_CLASSIFY(batches, does, packets, on_finish, 0)

// Collects a batch of a limited number of packets from an expression, until it yields 0.
#define MAKE_BATCH(gives, packets, most)                                                         \
    {                                                                                            \
        slowpath_click_row slowpath_row = {};                                                    \
        while ((int) slowpath_row.count < ((int) (most) > 0 ? (int) (most) : BATCH_MAX_PULL)) {  \
            Packet *slowpath_made = gives;                                                       \
            if (!slowpath_made)                                                                  \
                break;                                                                           \
            slowpath_row.add(slowpath_made);                                                     \
        }                                                                                        \
        packets = slowpath_row.made();                                                           \
    }

#define BATCH_CREATE_INIT(name)                                                                  \
    PacketBatch *name = 0;                                                                       \
    slowpath_click_row slowpath_row_##name = {}
#define BATCH_CREATE_APPEND(name, p) slowpath_row_##name.add(p)
#define BATCH_CREATE_FINISH(name) name = slowpath_row_##name.made()
#define BATCH_RECYCLE_START()
#define BATCH_RECYCLE_END()
#define BATCH_RECYCLE_PACKET(p) (p)->kill()
#define BATCH_RECYCLE_PACKET_NONATOMIC(p) (p)->kill()
#define BATCH_RECYCLE_PACKET_CONTEXT(p) (p)->kill()
#define BATCH_RECYCLE_UNKNOWN_PACKET(p) (p)->kill()
#endif
