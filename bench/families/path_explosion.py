"""Path explosion: a counter for each of n packet bits, and n more counters if all bits are zero.

Generalises the program of this name in table 1 of "Determination of Throughput Guarantees for
Processor-based SmartNICs" (CoNEXT 2021) to other sizes. All 2^n - 1 paths that count a bit and then
find all bits to be zero are impossible, each because of two branches.
"""

from families.listing import DROP, PASS, Listing

WORD = 32  # bits


def path_explosion(bits: int) -> str:
    """Return the listing of a program that tests `bits` packet bits, at most 256."""
    words = (bits + WORD - 1) // WORD
    listing = Listing(f"{bits} counted bits, then {bits} more counters if all are zero")
    listing.check_packet(2, 4 * words, "drop")
    listing.add(f"mem[read32_swap, $xfer_0, gprA_2, 0x0, {words}], ctx_swap[sig1]")
    listing.add("immed[gprA_16, 0x1], gpr_wrboth")
    for word in range(words):
        listing.add(f"alu[gprA_{8 + word}, --, B, $xfer_{word}], gpr_wrboth")
    for bit in range(bits):
        shift = f", >>{bit // 8 % 4 * 8}" if bit // 8 % 4 else ""
        listing.add(f"""\
ld_field_w_clr[gprA_6, 0001, gprB_{8 + bit // WORD}{shift}], gpr_wrboth
alu[--, gprA_6, AND, {1 << bit % 8:#x}]
beq[bit{bit}]""")
        listing.count(4 * bit)
        listing.label(f"bit{bit}")
    if bits < WORD:
        listing.immediate("gprB_21", (1 << bits) - 1)
        listing.add("alu[gprA_6, gprA_8, AND, gprB_21], gpr_wrboth")
    else:
        listing.add("immed[gprA_6, 0x0], gpr_wrboth")
        for word in range(words):
            listing.add(f"alu[gprA_6, gprA_6, OR, gprB_{8 + word}], gpr_wrboth")
    listing.add("alu[--, gprA_6, OR, 0x0]\nbne[pass]")
    for bit in range(bits):
        listing.count(4 * (bits + bit))
    listing.label("pass")
    listing.exit(PASS)
    listing.label("drop")
    listing.exit(DROP)
    return str(listing)
