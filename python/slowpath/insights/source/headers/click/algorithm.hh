// Search in a sequence.
#ifndef SLOWPATH_CLICK_ALGORITHM_HH
#define SLOWPATH_CLICK_ALGORITHM_HH
#include <click/glue.hh>

// Returns the first position of `value`, or `end` if the sequence lacks it.
template <class I, class T> inline I find(I at, I end, const T &value) {
    while (at != end && !(*at == value))
        ++at;
    return at;
}
#endif
