// Times of small work over its size: the curves that fit_curves.py judges models by.
//
//     cc -O2 -o measure measure.c -lm && taskset -c 0 ./measure FOLDER
//
// Each curve has 60 sizes, evenly apart on a logarithmic axis. They take turns, in another order each
// time, so that what disturbs the machine for a while disturbs all of them. Of the times of a size
// the lower quartile counts: what disturbs only adds. Addresses and values do not depend on time.
//
// How sure a quartile is, the times around it tell, whatever they are distributed like: so many of
// them are below the true one as a binomial distribution allows (Woodruff 1952). The intervals have
// the columns of `slowpath calibrate`, and are as many standard errors wide as its own.
#define _GNU_SOURCE
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { SIZES = 60, TURNS = 120, LINE = 64 };
static const double LEAST_SECONDS = 0.0006;  // of a timed run
static const double QUARTER = 0.25;
static const double WIDTH = 2.36;  // Student's quantile of 0.99 with TURNS - 1 degrees of freedom
static const size_t LARGEST = (size_t)96 << 20;

static char *huge_pages, *small_pages, *other;
static volatile uint64_t kept;  // results go here, so that they are computed
static uint64_t state = 88172645463325252u;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static uint64_t drawn(void) {  // xorshift, Marsaglia 2003
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static char *memory(int advice) {
    char *found = mmap(NULL, LARGEST, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (found == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    madvise(found, LARGEST, advice);
    memset(found, 1, LARGEST);
    return found;
}

// --- loads that depend on each other -------------------------------------------------------------

static void link_lines(char *base, size_t bytes) {  // one random cycle (Sattolo 1986)
    size_t count = bytes / LINE;
    for (size_t at = 0; at < count; at++) *(size_t *)(base + at * LINE) = at;
    for (size_t at = count - 1; at > 0; at--) {
        size_t with = drawn() % at, held = *(size_t *)(base + at * LINE);
        *(size_t *)(base + at * LINE) = *(size_t *)(base + with * LINE);
        *(size_t *)(base + with * LINE) = held;
    }
    for (size_t at = 0; at < count; at++) {
        size_t next = *(size_t *)(base + at * LINE);
        *(void **)(base + at * LINE) = base + next * LINE;
    }
}

static void follow(char *base, size_t times) {
    void **place = (void **)base;
    for (size_t at = 0; at < times; at++) place = *place;
    kept = (uint64_t)place;
}

static void prepare_huge(size_t x) { link_lines(huge_pages, x); follow(huge_pages, x / LINE); }
static void prepare_small(size_t x) { link_lines(small_pages, x); follow(small_pages, x / LINE); }
static void chase_huge(size_t x, size_t times) { (void)x; follow(huge_pages, times); }
static void chase_small(size_t x, size_t times) { (void)x; follow(small_pages, times); }

// --- tables --------------------------------------------------------------------------------------

static size_t mask;  // of slots: a power of two, at least twice as many as entries

static size_t slot(uint64_t key) { return (size_t)(key * 0x9E3779B97F4A7C15u >> 20) & mask; }

static void prepare_hash(size_t x) {
    uint64_t *table = (uint64_t *)huge_pages;
    for (mask = 1; mask < 2 * x;) mask *= 2;
    mask--;
    memset(table, 0, (mask + 1) * 16);
    for (uint64_t key = 1; key <= x; key++) {
        size_t at = slot(key);
        while (table[2 * at]) at = (at + 1) & mask;
        table[2 * at] = table[2 * at + 1] = key;
    }
}

static void hash(size_t x, size_t times) {
    uint64_t *table = (uint64_t *)huge_pages, sum = 0;
    for (size_t n = 0; n < times; n++) {
        uint64_t key = 1 + (drawn() + (sum & 1)) % x;
        size_t at = slot(key);
        while (table[2 * at] != key) at = (at + 1) & mask;
        sum += table[2 * at + 1];
    }
    kept = sum;
}

static void prepare_sorted(size_t x) {
    for (size_t at = 0; at < x; at++) ((uint32_t *)huge_pages)[at] = (uint32_t)(2 * at);
}

static void binary_search(size_t x, size_t times) {
    uint32_t *sorted = (uint32_t *)huge_pages;
    uint64_t sum = 0;
    for (size_t n = 0; n < times; n++) {
        uint32_t key = (uint32_t)((drawn() + (sum & 1)) % (2 * x));
        size_t low = 0, high = x;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (sorted[middle] < key) low = middle + 1;
            else high = middle;
        }
        sum += low;
    }
    kept = sum;
}

static void prepare_rules(size_t x) {  // value and mask each; the last one matches
    uint32_t *rules = (uint32_t *)huge_pages;
    for (size_t at = 0; at < x; at++) {
        rules[2 * at] = at + 1 < x ? 1000000000u + (uint32_t)at : 5;
        rules[2 * at + 1] = at + 1 < x ? ~0u : 255;
    }
}

static void linear_search(size_t x, size_t times) {
    volatile uint32_t asked = 5;
    for (size_t n = 0; n < times; n++) {
        uint32_t *rules = (uint32_t *)huge_pages, key = asked;
        for (size_t at = 0; at < x; at++)
            if ((key & rules[2 * at + 1]) == rules[2 * at]) kept = at;
    }
}

// --- bytes ---------------------------------------------------------------------------------------

static void nothing(size_t x) { (void)x; }

static void copy(size_t x, size_t times) {
    for (size_t n = 0; n < times; n++) {
        memcpy(other, huge_pages, x);
        __asm__ volatile("" ::"r"(other) : "memory");
    }
}

static void checksum(size_t x, size_t times) {
    for (size_t n = 0; n < times; n++) {
        uint16_t *words = (uint16_t *)huge_pages;
        uint64_t sum = 0;
        __asm__ volatile("" ::"r"(words) : "memory");
        for (size_t at = 0; at < x / 2; at++) sum += words[at];
        kept = sum;
    }
}

static void crc(size_t x, size_t times) {
    uint32_t found = ~0u;
    for (size_t n = 0; n < times; n++)
        for (size_t at = 0; at < x; at++) {
            found ^= (unsigned char)huge_pages[at];
            found = found >> 8 ^ (0xEDB88320u & -(found & 1));
        }
    kept = found;
}

// --- order and branches --------------------------------------------------------------------------

static int by_value(const void *one, const void *two) {
    uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)two;
    return (left > right) - (left < right);
}

static void sort(size_t x, size_t times) {
    uint32_t *values = (uint32_t *)huge_pages;
    for (size_t n = 0; n < times; n++) {
        for (size_t at = 0; at < x; at++) values[at] = (uint32_t)drawn();
        qsort(values, x, sizeof *values, by_value);
    }
}

enum { BRANCHES = 1 << 16 };

static void prepare_branches(size_t x) {  // so many in a thousand are taken
    for (size_t at = 0; at < BRANCHES; at++) huge_pages[at] = (drawn() >> 20) % 1000 < x;
}

static void branch(size_t x, size_t times) {
    uint64_t sum = x;
    for (size_t n = 0; n < times; n++) {
        if (huge_pages[n % BRANCHES]) {
            sum = sum * 3 + 1;
            __asm__ volatile("" : "+r"(sum));
        } else {
            sum ^= sum >> 3;
            __asm__ volatile("" : "+r"(sum));
        }
    }
    kept = sum;
}

struct curve {
    const char *name, *x;
    void (*prepare)(size_t);
    void (*work)(size_t, size_t);
    double least, most;
    size_t unit;
    int batch;  // work is timed no fewer times at once
};

static const struct curve CURVES[] = {
    {"chase_huge", "bytes", prepare_huge, chase_huge, 1024, 64 << 20, 64, 20000},
    {"chase_small", "bytes", prepare_small, chase_small, 1024, 64 << 20, 64, 20000},
    {"hash", "entries", prepare_hash, hash, 16, 2 << 20, 1, 10000},
    {"binary_search", "entries", prepare_sorted, binary_search, 16, 8 << 20, 1, 10000},
    {"linear_search", "rules", prepare_rules, linear_search, 4, 20000, 1, 1},
    {"copy", "bytes", nothing, copy, 16, 8 << 20, 1, 1},
    {"checksum", "bytes", nothing, checksum, 16, 1 << 20, 2, 1},
    {"crc", "bytes", nothing, crc, 16, 9000, 1, 1},
    {"sort", "entries", nothing, sort, 4, 30000, 1, 1},
    {"branch", "taken_permille", prepare_branches, branch, 5, 995, 1, 2 * BRANCHES},
};

static int by_time(const void *one, const void *two) {
    double left = *(const double *)one, right = *(const double *)two;
    return (left > right) - (left < right);
}

static double once(const struct curve *curve, size_t x) {
    curve->prepare(x);
    size_t times = (size_t)curve->batch;
    for (;;) {  // the first runs warm up
        double begin = now();
        curve->work(x, times);
        double seconds = now() - begin;
        if (seconds >= LEAST_SECONDS) break;
        times *= 2;
    }
    double begin = now();
    curve->work(x, times);
    return 1e9 * (now() - begin) / (double)times;
}

// What the share `share` of the ascending times does not exceed, in between interpolated.
static double quantile(const double *times, double share) {
    double place = fmin(fmax(share, 0), 1) * (TURNS - 1);
    size_t below = (size_t)place, above = below + 1 < TURNS ? below + 1 : below;
    return times[below] + (times[above] - times[below]) * (place - (double)below);
}

// Half of what is between the times two standard deviations of their number to either side.
static double standard_error(const double *times, double share) {
    double apart = 2 * sqrt(share * (1 - share) / TURNS);
    return (quantile(times, share + apart) - quantile(times, share - apart)) / 4;
}

static void measure(const struct curve *curve, const char *folder) {
    static double times[SIZES][TURNS];
    size_t sizes[SIZES], last = 0;
    double apart = pow(curve->most / curve->least, 1.0 / (SIZES - 1)), exact = curve->least;
    for (int at = 0; at < SIZES; at++, exact *= apart) {
        sizes[at] = (size_t)(exact / (double)curve->unit + 0.5) * curve->unit;
        if (sizes[at] <= last) sizes[at] = last + curve->unit;
        last = sizes[at];
    }
    for (int turn = 0; turn < TURNS; turn++)
        for (int n = 0; n < SIZES; n++) {
            int at = (n * 37 + turn * 11) % SIZES;  // 37 and 60 have no common factor
            times[at][turn] = once(curve, sizes[at]);
        }
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.csv", folder, curve->name);
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        exit(1);
    }
    fprintf(file, "%s,cost,low,high,observations\n", curve->x);
    for (int at = 0; at < SIZES; at++) {
        qsort(times[at], TURNS, sizeof(double), by_time);
        double found = quantile(times[at], QUARTER);
        double apart = WIDTH * standard_error(times[at], QUARTER);
        fprintf(file, "%zu,%.6f,%.6f,%.6f,%d\n", sizes[at], found, found - apart, found + apart, TURNS);
    }
    fclose(file);
}

int main(int count, char **words) {
    if (count < 2) {
        fprintf(stderr, "usage: measure FOLDER [CURVE...]\n");
        return 2;
    }
    huge_pages = memory(MADV_HUGEPAGE);
    small_pages = memory(MADV_NOHUGEPAGE);
    other = memory(MADV_HUGEPAGE);
    for (size_t n = 0; n < sizeof CURVES / sizeof *CURVES; n++) {
        int wanted = count == 2;
        for (int at = 2; at < count; at++) wanted |= !strcmp(words[at], CURVES[n].name);
        if (!wanted) continue;
        double begin = now();
        measure(&CURVES[n], words[1]);
        fprintf(stderr, "%s: %.0f s\n", CURVES[n].name, now() - begin);
    }
    return 0;
}
