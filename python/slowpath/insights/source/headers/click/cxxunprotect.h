/* Nothing is to be done where only C++ is compiled. */
#include <click/config.h>
