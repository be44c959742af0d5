#include <click/config.h>
#include "limits.hh"
#include <click/args.hh>

Limits::Limits() : _least(0), _most(0), _asked(0) {}
int Limits::configure(Vector<String> &conf, ErrorHandler *errh) {
    return Args(conf, this, errh).read_mp("LEAST", _least).read_mp("MOST", _most).complete();
}
bool Limits::allows(uint32_t length) {
    _asked++;
    return _least <= length && length <= _most;
}

EXPORT_ELEMENT(Limits LengthLimits)
