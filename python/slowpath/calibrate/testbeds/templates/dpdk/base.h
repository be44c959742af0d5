#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_malloc.h>

#define keep(value) asm volatile("" : "+r"(value))	/* forces the compiler to compute a value */

/* Parameters; the swept one is a variable. */
${parameters}

static char wrong[256]; /* message of the last error */

/* Stores an error message, and returns -1. */
static inline int refuse(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(wrong, sizeof(wrong), format, arguments);
	va_end(arguments);
	return -1;
}
