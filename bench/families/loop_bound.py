"""Loop bound: a loop over at most n bytes of the packet, as in the A-law examples.

Each iteration checks that the packet has another byte. It executes extra instructions for bytes of
at least 0x80, and others for the byte 0x7f; no byte causes both. Each iteration thus adds a packet
size and a pair of contradictory branches.
"""

from families.listing import DROP, PASS, Listing

ETHERNET = 14  # bytes


def loop_bound(rounds: int) -> str:
    """Return the listing of a program whose loop has `rounds` iterations."""
    listing = Listing(f"a loop over the bytes of the packet, {rounds} at most")
    listing.immediate("gprB_21", rounds)
    listing.add(f"""\
alu[gprA_17, --, B, gprB_21], gpr_wrboth
immed[gprA_8, 0x0], gpr_wrboth
immed[gprA_10, 0x0], gpr_wrboth
alu[gprA_12, gprA_2, +, {ETHERNET:#x}], gpr_wrboth
alu[gprA_13, gprA_3, +carry, 0x0], gpr_wrboth""")
    listing.label("round")
    listing.check_packet(12, 1, "end")
    listing.add("""\
mem[read32_swap, $xfer_0, gprA_12, 0x0, 1], ctx_swap[sig1]
ld_field_w_clr[gprA_14, 0001, $xfer_0], gpr_wrboth
alu[gprA_8, gprA_8, +, gprB_14], gpr_wrboth
alu[--, gprA_14, AND, 0x80]
beq[low]""")
    listing.work(8)
    listing.label("low")
    listing.add("alu[--, gprA_14, XOR, 0x7f]\nbne[other]")
    listing.work(6)
    listing.label("other")
    listing.add("""\
alu[gprA_12, gprA_12, +, 0x1], gpr_wrboth
alu[gprA_13, gprA_13, +carry, 0x0], gpr_wrboth
alu[gprA_10, gprA_10, +, 0x1], gpr_wrboth
alu[--, gprA_10, XOR, gprB_17]
bne[round]""")
    listing.label("end")
    listing.add("alu[--, gprA_8, OR, 0x0]\nbeq[drop]")
    listing.exit(PASS)
    listing.label("drop")
    listing.exit(DROP)
    return str(listing)
