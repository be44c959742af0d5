// Access to files and commands, which a run does not have.
#ifndef SLOWPATH_CLICK_USERUTILS_HH
#define SLOWPATH_CLICK_USERUTILS_HH
#include <click/texts.hh>

inline String file_string(const String &, ErrorHandler *errh = 0) {
    if (errh)
        errh->error("a file is to be read, and there are none in this run");
    return String();
}
inline String shell_command_output_string(const String &, const String &, ErrorHandler *errh = 0) {
    return file_string(String(), errh);
}
#endif
