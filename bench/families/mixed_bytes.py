"""Mixed bytes: two bytes of the packet in a shift register, for n rounds.

Each iteration shifts by one bit and feeds back the bit that is shifted out. It executes extra
instructions if two bits of the register have a certain value. All iterations thus depend on the
same 16 bits, but no small set of branches is contradictory.
"""

from families.listing import DROP, PASS, Listing

ETHERNET = 14  # bytes
FEEDBACK = 0xB400  # of x^16 + x^14 + x^13 + x^11 + 1


def mixed_bytes(rounds: int) -> str:
    """Return the listing of a program with `rounds` iterations of the shift register."""
    listing = Listing(f"{rounds} rounds of a shift register with two bytes of the packet")
    listing.check_packet(2, ETHERNET + 4, "drop")
    listing.immediate("gprB_21", rounds)
    listing.add(f"""\
alu[gprA_17, --, B, gprB_21], gpr_wrboth
immed[gprA_10, 0x0], gpr_wrboth
immed[gprA_16, {FEEDBACK:#x}], gpr_wrboth
alu[gprA_12, gprA_2, +, {ETHERNET:#x}], gpr_wrboth
alu[gprA_13, gprA_3, +carry, 0x0], gpr_wrboth
mem[read32_swap, $xfer_0, gprA_12, 0x0, 1], ctx_swap[sig1]
ld_field_w_clr[gprA_8, 0011, $xfer_0], gpr_wrboth""")
    listing.label("round")
    listing.add("""\
alu[gprA_6, gprA_8, AND, 0x1], gpr_wrboth
alu_shf[gprA_8, --, B, gprB_8, >>1], gpr_wrboth
alu[--, gprA_6, XOR, 0x1]
bne[shifted]
alu[gprA_8, gprA_8, XOR, gprB_16], gpr_wrboth""")
    listing.label("shifted")
    listing.add("""\
alu[gprA_6, gprA_8, AND, 0x30], gpr_wrboth
alu[--, gprA_6, XOR, 0x10]
bne[other]""")
    listing.work(6)
    listing.label("other")
    listing.add("""\
alu[gprA_10, gprA_10, +, 0x1], gpr_wrboth
alu[--, gprA_10, XOR, gprB_17]
bne[round]""")
    listing.exit(PASS)
    listing.label("drop")
    listing.exit(DROP)
    return str(listing)
