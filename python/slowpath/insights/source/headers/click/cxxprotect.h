/* Empty, because these headers are only compiled as C++. */
#include <click/config.h>
