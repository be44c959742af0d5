"""Builds assembly listings for the Netronome network flow processor, with labels.

It has the format of listings, and the code at the beginning and end of every program. The beginning
of a program, the check of a packet's length and access to a map are as compiled by the driver.
"""

EXIT = ".15000"

DROP, PASS = 1, 2

# The packet starts at gprA_2 and ends at gprA_4, addresses of 64 bits; gprB_1 points to the map.
PROLOGUE = """\
immed[gprB_22, 0x3fff]
alu[gprB_22, gprB_22, AND, *l$index1]
alu[gprA_4, gprB_22, +, *l$index1[2]], gpr_wrboth
immed[gprA_5, 0x0], gpr_wrboth
alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth
immed[gprA_3, 0x0], gpr_wrboth
alu[gprA_1, --, B, gprB_23], gpr_wrboth"""


class Listing:
    """Builds the text of an assembly listing; labels replace instruction numbers."""

    def __init__(self, comment: str) -> None:
        self._comment = comment
        self._insns: list[str] = []
        self._labels: dict[str, int] = {}
        self.add(PROLOGUE)

    def __len__(self) -> int:
        return len(self._insns)

    def add(self, insns: str) -> None:
        """Append instructions, one on each line; branches name labels, such as `bne[LABEL]`."""
        self._insns += insns.splitlines()

    def label(self, name: str) -> None:
        """Define a label, the target of branches, at the next instruction."""
        self._labels[name] = len(self._insns)

    def check_packet(self, pointer: int, length: int, otherwise: str) -> None:
        """Append a check that `length` bytes of the packet follow a pointer in a register.

        Otherwise, the program branches to the label `otherwise`.
        """
        self.immediate("gprB_21", length)
        self.add(f"""\
alu[gprA_6, gprA_{pointer}, +, gprB_21], gpr_wrboth
alu[gprA_7, gprA_{pointer + 1}, +carry, 0x0], gpr_wrboth
alu[--, gprA_4, -, gprB_6]
alu[--, gprA_5, -carry, gprB_7]
bcc[{otherwise}]""")

    def immediate(self, register: str, value: int) -> None:
        """Append instructions that set a register to a number below 2^32."""
        self.add(f"immed[{register}, {value & 0xFFFF:#x}]")
        if value >> 16:
            self.add(f"immed_w1[{register}, {value >> 16:#x}]")

    def count(self, offset: int) -> None:
        """Append instructions that increment the counter at `offset` in the map.

        The register gprB_16 must contain 1.
        """
        self.immediate("gprA_0", offset)
        self.add("""\
immed[gprA_21, 0x890]
ld_field[gprA_21, 1100, gprB_16, <<16]
mem[add_imm, $xfer_0, gprB_1, <<8, gprA_0, 1], indirect_ref""")

    def work(self, cycles: int) -> None:
        """Append instructions that take `cycles` cycles and have no other effect."""
        self.add("\n".join(["nop"] * cycles))

    def exit(self, result: int) -> None:
        """Append instructions that end the program with the XDP action `result`."""
        self.add(f"immed[gprA_0, {result:#x}], gpr_wrboth\nimmed[gprA_1, 0x0], gpr_wrboth")
        self.add(f"br[{EXIT}]")

    def __str__(self) -> str:
        lines = [f"; {line}" for line in self._comment.splitlines()]
        for number, insn in enumerate(self._insns):
            lines.append(f"{8 * number:4x}:\t{f'.{number}':>6}  {self._resolved(insn)}")
        return "\n".join(lines) + "\n"

    def _resolved(self, insn: str) -> str:
        name, _, rest = insn.partition("[")
        label = rest.rstrip("]")
        if not name.startswith("b") or label == EXIT:
            return insn
        return f"{name}[.{self._labels[label]}]"
