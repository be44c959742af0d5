// Branches and loops whose every way is a function, and an access to a variable. With TWIN, it counts
// by itself what it does, reads packets from standard input and writes the counts.
#include <stddef.h>
#include <stdint.h>

#ifdef TWIN
#include <stdio.h>
static unsigned long calls[10], reads, writes;
#define STEP(n) (calls[n]++, reads++, writes++)
#define READ() (reads++)
#else
#define STEP(n) ((void) 0)
#define READ() ((void) 0)
#endif

volatile uint32_t state[4];

#define STEP_FUNCTION(n)                                                                         \
    __attribute__((noinline)) static void step##n(unsigned at) {                                 \
        STEP(n);                                                                                 \
        state[(at + n) & 3] += n;                                                                \
    }
STEP_FUNCTION(0)
STEP_FUNCTION(1)
STEP_FUNCTION(2)
STEP_FUNCTION(3)
STEP_FUNCTION(4)
STEP_FUNCTION(5)
STEP_FUNCTION(6)
STEP_FUNCTION(7)
STEP_FUNCTION(8)
STEP_FUNCTION(9)

int process(const uint8_t *data, size_t length) {
    if (length < 4) {
        step0(0);
        return -1;
    }
    unsigned sum = 0;
    for (size_t i = 0; i < length; i++) {
        if (data[i] & 1) {
            step1(i);
            continue;
        }
        for (unsigned k = 0; k < (data[i] & 7u); k++) {
            if (k == 5)
                break;
            step2(k);
            sum += k;
        }
        switch (data[i] >> 5) {
        case 0:
            step3(i);
            /* fall through */
        case 1:
            step4(i);
            break;
        case 2:
            if (sum > 40)
                goto out;
            step5(i);
            break;
        case 7:
            step6(i);
        }
    }
    step7(sum);
    while (READ(), state[0] & 3)
        step9(3);
out:
    step8(1);
    return sum & 0x7f;
}

#ifdef TWIN
int main(void) {
    static uint8_t data[65536];
    uint32_t length;
    unsigned long results = 0;
    while (fread(&length, 4, 1, stdin) == 1 && fread(data, 1, length, stdin) == length)
        results += process(data, length);
    for (int n = 0; n < 10; n++)
        printf("%lu ", calls[n]);
    printf("%lu %lu %ld\n", reads, writes, (long) results);
    return 0;
}
#endif
