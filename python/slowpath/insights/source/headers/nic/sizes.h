/* Default sizes of the headers' tables. */
#ifndef SLOWPATH_NIC_SIZES_H
#define SLOWPATH_NIC_SIZES_H
#ifndef SLOWPATH_BUCKETS
#define SLOWPATH_BUCKETS 1024
#endif
#ifndef SLOWPATH_SLOTS
#define SLOWPATH_SLOTS 4
#endif
#endif
