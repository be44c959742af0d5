// Alignment of packets; it is unknown.
#ifndef SLOWPATH_CLICK_STANDARD_ALIGNMENTINFO_HH
#define SLOWPATH_CLICK_STANDARD_ALIGNMENTINFO_HH
#include <click/element.hh>

class AlignmentInfo {
  public:
    static int query(const Element *, int, int &chunk, int &offset) {
        chunk = 1;
        offset = 0;
        return 0;
    }
};
#endif
