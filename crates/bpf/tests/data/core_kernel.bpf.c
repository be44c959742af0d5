// Types of an imaginary kernel, for core.bpf.c. The variables and the program only make the compiler
// emit the types.
#include "bpf.h"

struct inside {
	u64 before;
	u32 deep;
};

struct moved {
	u64 inserted;
	u32 second;
	union {
		struct inside nested;
		u64 other;
	};
	u16 list[8];
	u64 grown;
	s64 grown_signed;
	u32 first;
	u32 spare : 30;
	u32 flag_a : 3;
	u32 flag_b : 5;
	u64 renamed;
};

enum colour { RED = 1, BLUE = 30 };

typedef u32 number_t;

struct moved moved;
enum colour colour;
number_t number;

SEC("xdp")
int use(struct xdp_md *ctx)
{
	return moved.second + colour + number;
}
