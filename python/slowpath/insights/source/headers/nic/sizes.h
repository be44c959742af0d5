/* How large tables of the headers are that do not say it themselves. */
#ifndef SLOWPATH_NIC_SIZES_H
#define SLOWPATH_NIC_SIZES_H
#ifndef SLOWPATH_BUCKETS
#define SLOWPATH_BUCKETS 1024
#endif
#ifndef SLOWPATH_SLOTS
#define SLOWPATH_SLOTS 4
#endif
#endif
