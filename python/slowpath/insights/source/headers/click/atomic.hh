// Integers that several cores change.
#ifndef SLOWPATH_CLICK_ATOMIC_HH
#define SLOWPATH_CLICK_ATOMIC_HH
#include <click/glue.hh>

#define SLOWPATH_ATOMIC atomic_uint32_t
#define SLOWPATH_WORD uint32_t
#define SLOWPATH_STEP int32_t
#include <click/atomic_word.hh>

#define SLOWPATH_ATOMIC atomic_uint64_t
#define SLOWPATH_WORD uint64_t
#define SLOWPATH_STEP int64_t
#include <click/atomic_word.hh>
#endif
