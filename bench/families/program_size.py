"""Program size: n instructions after unrolling, in a loop that reads a packet word each round.

The body tests the bits of the word one after the other, with a little work for each bit that is
set. The last test asks whether the first bit is clear, which contradicts an earlier test in every
round.
"""

import math

from families.listing import DROP, PASS, Listing

MAX_ROUNDS = 320  # words that fit into a packet
ETHERNET = 14
AROUND = 7  # instructions of a round except tests
TEST = 10  # instructions of a test


def program_size(instructions: int) -> str:
    """Return a listing that has about `instructions` instructions after loops are unrolled."""
    rounds = min(math.isqrt(instructions), MAX_ROUNDS)
    tests = round((instructions / rounds - AROUND) / TEST)
    listing = Listing(f"{rounds} rounds of {tests} tests: {instructions} instructions")
    listing.check_packet(2, ETHERNET + 4 * rounds, "drop")
    listing.immediate("gprB_21", rounds)
    listing.add(f"""\
alu[gprA_17, --, B, gprB_21], gpr_wrboth
immed[gprA_10, 0x0], gpr_wrboth
immed[gprA_14, 0x0], gpr_wrboth
alu[gprA_12, gprA_2, +, {ETHERNET:#x}], gpr_wrboth
alu[gprA_13, gprA_3, +carry, 0x0], gpr_wrboth""")
    listing.label("round")
    listing.add("""\
mem[read32_swap, $xfer_0, gprA_12, 0x0, 1], ctx_swap[sig1]
alu[gprA_8, --, B, $xfer_0], gpr_wrboth""")
    for test in range(tests):
        last = test == tests - 1
        bit = 0 if last else test % 32
        shift = f", >>{bit // 8 * 8}" if bit // 8 else ""
        listing.add(f"""\
ld_field_w_clr[gprA_6, 0001, gprB_8{shift}], gpr_wrboth
alu[--, gprA_6, AND, {1 << bit % 8:#x}]
{"bne" if last else "beq"}[bit{test}]""")
        listing.add("\n".join(["alu[gprA_14, gprA_14, +, gprB_8], gpr_wrboth"] * (TEST - 4)))
        listing.label(f"bit{test}")
        listing.add("alu[gprA_14, gprA_14, XOR, 0x1], gpr_wrboth")
    listing.add("""\
alu[gprA_12, gprA_12, +, 0x4], gpr_wrboth
alu[gprA_13, gprA_13, +carry, 0x0], gpr_wrboth
alu[gprA_10, gprA_10, +, 0x1], gpr_wrboth
alu[--, gprA_10, XOR, gprB_17]
bne[round]""")
    listing.exit(PASS)
    listing.label("drop")
    listing.exit(DROP)
    return str(listing)
