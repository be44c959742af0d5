"""Map look-ups: n tables, each read at a place that the packet chooses, and then read again.

What is zero at first is counted, elsewhere; what is not zero when it is read again is counted too.
No packet and no map content gets both of a table, as nothing is written to the tables: that takes
knowing that the counters are behind them.
"""

from families.listing import DROP, PASS, Listing

FIELDS = 8  # words of the packet that keys are made from
TABLE = 0x400  # bytes
ETHERNET = 14


def map_lookups(tables: int) -> str:
    """The program with so many tables, at most 64."""
    listing = Listing(f"{tables} tables, each read twice at the same place")
    listing.check_packet(2, ETHERNET + 4 * FIELDS, "drop")
    listing.add("immed[gprA_16, 0x1], gpr_wrboth")
    counters = tables * TABLE
    for again, branch in enumerate(["bne", "beq"]):
        for table in range(tables):
            place = f"{'again' if again else 'first'}{table}"
            key = ETHERNET + 4 * (table % FIELDS)
            listing.add(f"""\
mem[read32_swap, $xfer_0, gprA_2, {key:#x}, 1], ctx_swap[sig1]
alu_shf[gprA_8, --, B, $xfer_0, >>{table // FIELDS + 1}], gpr_wrboth
immed[gprA_21, {TABLE - 4:#x}]
alu[gprA_0, gprA_21, AND, gprB_8], gpr_wrboth""")
            listing.immediate("gprB_21", table * TABLE)
            listing.add(f"""\
alu[gprA_0, gprA_0, +, gprB_21], gpr_wrboth
mem[read32_swap, $xfer_0, gprB_1, <<8, gprA_0, 1], ctx_swap[sig1]
alu[gprA_6, --, B, $xfer_0], gpr_wrboth
alu[--, gprA_6, OR, 0x0]
{branch}[{place}]""")
            listing.count(counters + 4 * (again * tables + table))
            listing.label(place)
    listing.exit(PASS)
    listing.label("drop")
    listing.exit(DROP)
    return str(listing)
