/* What a load takes on which the next one depends: pointers through as many MiB as the argument says,
 * one for each cache line, in pages of the smallest size, in an order that no prefetcher follows.
 * Prints nanoseconds.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#define LOADS 4000000u

int main(int argc, char **argv)
{
	size_t size = (argc > 1 ? strtoul(argv[1], NULL, 10) : 128) << 20;
	uint32_t lines = size / 64, line = 0;
	struct timespec from, to;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* A linear congruential generator modulo a power of two visits all. */
	if (!size || (lines & (lines - 1)) || memory == MAP_FAILED)
		return 1;
	madvise(memory, size, MADV_NOHUGEPAGE);
	for (uint32_t n = 0; n < lines; n++) {
		uint32_t next = (line * 1664525u + 1013904223u) & (lines - 1);

		*(uint32_t *)(memory + (size_t)line * 64) = next;
		line = next;
	}
	clock_gettime(CLOCK_MONOTONIC, &from);
	for (uint32_t n = 0; n < LOADS; n++)
		line = *(volatile uint32_t *)(memory + (size_t)line * 64);
	clock_gettime(CLOCK_MONOTONIC, &to);
	printf("%.2f\n", ((to.tv_sec - from.tv_sec) * 1e9 + (to.tv_nsec - from.tv_nsec)) / LOADS);
	return 0;
}
