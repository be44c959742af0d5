// Binary heaps: the smallest element is first. `place(begin, at)` is called with the new position
// of each element that moves.
#ifndef SLOWPATH_CLICK_HEAP_HH
#define SLOWPATH_CLICK_HEAP_HH
#include <click/glue.hh>

struct slowpath_click_nowhere {
    template <class I> SLOWPATH_INLINE void operator()(I, I) {}
};

// Moves an element up or down to its position after it changed.
template <class I, class L, class P> void change_heap(I begin, I end, I one, L less, P place) {
    size_t count = end - begin, at = one - begin;
    while (at > 0 && less(begin[at], begin[(at - 1) / 2])) {
        click_swap(begin[at], begin[(at - 1) / 2]);
        place(begin, begin + at);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t least = at, child = 2 * at + 1;
        if (child < count && less(begin[child], begin[least]))
            least = child;
        if (child + 1 < count && less(begin[child + 1], begin[least]))
            least = child + 1;
        if (least == at)
            break;
        click_swap(begin[at], begin[least]);
        place(begin, begin + at);
        at = least;
    }
    place(begin, begin + at);
}
template <class I, class L> void change_heap(I begin, I end, I one, L less) {
    change_heap(begin, end, one, less, slowpath_click_nowhere());
}

// Adds the last element to the heap that precedes it.
template <class I, class L, class P> void push_heap(I begin, I end, L less, P place) {
    if (begin != end)
        change_heap(begin, end, end - 1, less, place);
}
template <class I, class L> void push_heap(I begin, I end, L less) {
    push_heap(begin, end, less, slowpath_click_nowhere());
}

// Moves an element behind the end of the heap, to the last position.
template <class I, class L, class P> void remove_heap(I begin, I end, I one, L less, P place) {
    I last = end - 1;
    if (one == last)
        return;
    click_swap(*one, *last);
    change_heap(begin, last, one, less, place);
}
template <class I, class L> void remove_heap(I begin, I end, I one, L less) {
    remove_heap(begin, end, one, less, slowpath_click_nowhere());
}
template <class I, class L, class P> void pop_heap(I begin, I end, L less, P place) {
    if (begin != end)
        remove_heap(begin, end, begin, less, place);
}
template <class I, class L> void pop_heap(I begin, I end, L less) {
    pop_heap(begin, end, less, slowpath_click_nowhere());
}
#endif
