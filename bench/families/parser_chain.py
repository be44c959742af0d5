"""Chain length: n parsers in a row, each for a header that contains its length.

Every parser checks that the packet has the next header, skips it (4 to 16 bytes, so that offsets are
not constant), does more work for one type of header, and ends the chain at another type.

In the family of padded headers, only headers of at least 8 bytes cause work: a path with more work
needs a longer packet, and the slowest path is a selection of the n parsers.
"""

from families.listing import DROP, PASS, Listing

ETHERNET = 14  # bytes


def parser_chain(headers: int) -> str:
    """Return the listing of a program with `headers` header parsers in a row."""
    return _chain(headers, padded=False)


def padded_headers(headers: int) -> str:
    """Return a listing like `parser_chain`, in which only headers above 4 bytes cause work."""
    return _chain(headers, padded=True)


def _chain(headers: int, *, padded: bool) -> str:
    listing = Listing(f"up to {headers} headers of 4 to 16 bytes in a row")
    listing.immediate("gprB_21", ETHERNET)
    listing.add("""\
alu[gprA_12, gprA_2, +, gprB_21], gpr_wrboth
alu[gprA_13, gprA_3, +carry, 0x0], gpr_wrboth""")
    for header in range(headers):
        listing.check_packet(12, 4, "drop")
        listing.add(f"""\
mem[read32_swap, $xfer_0, gprA_12, 0x0, 1], ctx_swap[sig1]
ld_field_w_clr[gprA_8, 0001, $xfer_0], gpr_wrboth
ld_field_w_clr[gprA_10, 0001, $xfer_0, >>8], gpr_wrboth
alu[gprA_10, gprA_10, AND, 0x3], gpr_wrboth
alu_shf[gprA_10, --, B, gprB_10, <<2], gpr_wrboth
alu[gprA_10, gprA_10, +, 0x4], gpr_wrboth
alu[gprA_12, gprA_12, +, gprB_10], gpr_wrboth
alu[gprA_13, gprA_13, +carry, 0x0], gpr_wrboth
alu[--, gprA_8, XOR, 0x3b]
beq[pass]
alu[--, gprA_8, XOR, 0x3c]
bne[next{header}]""")
        if padded:
            listing.add(f"alu[--, gprA_10, XOR, 0x4]\nbeq[next{header}]")
        listing.work(40)
        listing.label(f"next{header}")
    listing.label("pass")
    listing.exit(PASS)
    listing.label("drop")
    listing.exit(DROP)
    return str(listing)
