// Visitors of a router's elements, which visit nothing here.
#ifndef SLOWPATH_CLICK_ROUTERVISITOR_HH
#define SLOWPATH_CLICK_ROUTERVISITOR_HH
#include <click/router.hh>

class RouterVisitor {
  public:
    virtual ~RouterVisitor() {}
    virtual bool visit(Element *, bool, int, Element *, int, int) { return true; }
};

// A set of visited elements.
class ElementTracker : public RouterVisitor {
  public:
    explicit ElementTracker(Router *) {}
    const Vector<Element *> &elements() const { return _elements; }
    Element *const *begin() const { return _elements.begin(); }
    Element *const *end() const { return _elements.end(); }
    int size() const { return _elements.size(); }
    Element *operator[](int at) const { return _elements[at]; }
    bool contains(const Element *one) const {
        for (int at = 0; at < _elements.size(); at++)
            if (_elements[at] == one)
                return true;
        return false;
    }
    void insert(Element *one) {
        if (!contains(one))
            _elements.push_back(one);
    }
    void clear() { _elements.clear(); }

  private:
    Vector<Element *> _elements;
};

class ElementNeighborhoodTracker : public ElementTracker {
  public:
    explicit ElementNeighborhoodTracker(Router *router, int = 1) : ElementTracker(router) {}
};

class ElementCastTracker : public ElementTracker {
  public:
    ElementCastTracker(Router *router, const String &name) : ElementTracker(router), _name(name) {}
    bool visit(Element *one, bool, int, Element *, int, int) {
        if (!one->cast(_name.c_str()))
            return true;
        insert(one);
        return false;
    }

  private:
    String _name;
};
#endif
