// Variables in handler text, which is never evaluated.
#ifndef SLOWPATH_CLICK_VARIABLEENV_HH
#define SLOWPATH_CLICK_VARIABLEENV_HH
#include <click/string.hh>

class VariableExpander {
  public:
    virtual ~VariableExpander() {}
    virtual int expand(const String &, String &, int, int) const { return 0; }
};
class VariableEnvironment : public VariableExpander {
  public:
    explicit VariableEnvironment(VariableEnvironment *) {}
    bool define(const String &, const String &, bool) { return true; }
};
#endif
