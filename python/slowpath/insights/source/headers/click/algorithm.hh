// Looking for something in a row.
#ifndef SLOWPATH_CLICK_ALGORITHM_HH
#define SLOWPATH_CLICK_ALGORITHM_HH
#include <click/glue.hh>

// Where it stands first; the end, if it is not there.
template <class I, class T> inline I find(I at, I end, const T &value) {
    while (at != end && !(*at == value))
        ++at;
    return at;
}
#endif
