"""Map look-ups: n tables, each read twice at the same place, which the packet selects.

The first read counts zeros, the second one counts other values. As nothing is written to the tables,
no packet and no map content leads to both for a table. To prove this, the analysis must know that
the counters are stored after the tables.
"""

from families.listing import DROP, PASS, Listing

FIELDS = 8  # words of the packet that supply keys
TABLE = 0x400  # bytes
ETHERNET = 14


def map_lookups(tables: int) -> str:
    """Return the listing of a program that reads `tables` tables, at most 64."""
    listing = Listing(f"{tables} tables, each read twice at the same place")
    listing.check_packet(2, ETHERNET + 4 * FIELDS, "drop")
    listing.add("immed[gprA_16, 0x1], gpr_wrboth")
    counters = tables * TABLE
    for is_second, branch in enumerate(["bne", "beq"]):
        for table in range(tables):
            place = f"{'again' if is_second else 'first'}{table}"
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
            listing.count(counters + 4 * (is_second * tables + table))
            listing.label(place)
    listing.exit(PASS)
    listing.label("drop")
    listing.exit(DROP)
    return str(listing)
