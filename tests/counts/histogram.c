#include <stddef.h>
#include <stdint.h>

volatile uint64_t total;
volatile uint32_t large;
uint32_t histogram[256];
static const uint8_t weights[4] = {1, 2, 3, 4};

int process(const uint8_t *data, size_t length) {
    for (size_t i = 0; i < length; i++) {
        histogram[data[i]]++;
        total += weights[i & 3];
    }
    if (data[0] > 127)
        large++;
    return length & 1;
}
