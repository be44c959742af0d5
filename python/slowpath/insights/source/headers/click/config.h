// Part of slowpath's headers for elements in the style of Click, written from the documentation of
// its interface and from the names that elements use. Sources that use other names do not compile.
#ifndef SLOWPATH_CLICK_CONFIG_H
#define SLOWPATH_CLICK_CONFIG_H
#define CLICK_DECLS
#define CLICK_ENDDECLS
#define CLICK_USING_DECLS
#define CLICK_USERLEVEL 1
#define CLICK_SLOWPATH 1
#define CLICK_BYTE_ORDER CLICK_LITTLE_ENDIAN
#define CLICK_LITTLE_ENDIAN 1234
#define CLICK_BIG_ENDIAN 4321
#define HAVE_INT64_TYPES 1
#define HAVE_IPSEC 1
#define HAVE_INDIFFERENT_ALIGNMENT 1
#define CLICK_CXX_PROTECT
#define CLICK_CXX_UNPROTECT
#define CLICK_COLD
#define CLICK_DEPRECATED
#define CLICK_CACHE_ALIGN
#define CLICK_ALIGNED(bytes)
#define CLICK_WARN_UNUSED_RESULT
#define CLICK_NAME(name) ::name
#define CLICK_PACKED_STRUCTURE(opening, closing) opening closing __attribute__((packed));
#define CLICK_SIZE_PACKED_ATTRIBUTE __attribute__((packed))
#define CLICK_SIZE_PACKED_STRUCTURE(opening, closing) opening closing __attribute__((packed));
#define ELEMENT_REQUIRES(x)
#define ELEMENT_PROVIDES(x)
#define ELEMENT_LIBS(x)
#define ELEMENT_MT_SAFE(x)
#define ELEMENT_HEADER(x)
#endif
