// An element of our own that tells how long the first argument of its configuration is, and does
// what that says: makes texts too long, or shares too much.
#include <click/config.h>
#include <click/args.hh>
#include <click/element.hh>
#include <click/router.hh>
#include <click/straccum.hh>

class Speaker : public Element {
  public:
    const char *class_name() const { return "Speaker"; }
    int configure(Vector<String> &conf, ErrorHandler *) {
        _first = conf[0];
        _others = conf.size() - 1;
        return 0;
    }
    int tell(Packet *p);
    Packet *simple_action(Packet *p) {
        String text;
        StringAccum gathered;
        for (int at = 0; at < 5000; at++)
            if (_first == "grow")
                text += 'x';
            else if (_first == "gather")
                gathered << 'x';
        for (int at = 0; _first == "share" && at < 9; at++)
            router()->force_attachment("thing" + String(at));
        return p;
    }

  private:
    String _first;
    int _others;
};

// Thousands are characters of the first argument.
int Speaker::tell(Packet *p) {
    p->kill();
    return 1000 * _first.length() + _others;
}
EXPORT_ELEMENT(Speaker)
