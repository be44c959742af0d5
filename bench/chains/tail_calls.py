"""Compiles example programs to one object, in which they call each other by tail calls.

Each example is inlined unchanged into a program. Where the example returns XDP_PASS, the program
calls the next one through a program array, as dispatchers without freplace do. Maps stay separate.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from chains.description import EXAMPLES

# Use the same compiler flags as examples/chain/Makefile.
FLAGS = ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-Wno-unused-parameter"]
FLAGS += ["-fno-unroll-loops", "-idirafter", "/usr/include/x86_64-linux-gnu"]

STEP = "step"  # name of each program, followed by its position
NEXT = """
	if (action == XDP_PASS)
		bpf_tail_call(ctx, &chain, {place});"""


def source(programs: Sequence[str]) -> str:
    """Return the C source of a chain of examples; each example may occur only once."""
    parts = ["#include <linux/bpf.h>\n#include <bpf/bpf_helpers.h>\n"]
    for program in programs:
        # Rename all names that each example defines, and inline the example into another program.
        names = "".join(f"#undef {n}\n#define {n} {program}_{n}\n" for n in ("LICENSE", "headers"))
        inlined = f"int {program}(struct xdp_md *ctx) __attribute__((always_inline));\n"
        parts.append(f'{names}{inlined}#include "{EXAMPLES / program}.bpf.c"\n')
    places = range(len(programs))
    parts += [f"int {STEP}_{place}(struct xdp_md *ctx);\n" for place in places]
    values = ", ".join(f"[{place}] = (void *)&{STEP}_{place}" for place in places[1:])
    parts.append(f"""
struct {{
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, {len(programs)});
	__uint(key_size, sizeof(__u32));
	__array(values, int(void *));
}} chain SEC(".maps") = {{ .values = {{ {values} }} }};
""")
    for place, program in enumerate(programs):
        further = NEXT.format(place=place + 1) if place + 1 < len(programs) else ""
        parts.append(f"""
SEC("xdp")
int {STEP}_{place}(struct xdp_md *ctx)
{{
	int action = {program}(ctx);
{further}
	return action;
}}
""")
    return "\n".join(parts)


def build(clang: str, programs: Sequence[str], folder: Path) -> Path:
    """Compile a chain of examples, and return the object; its source is in the same folder.

    Raises:
        SystemExit: if clang does not compile it.
    """
    file = folder / f"tail_calls_{len(programs)}_{programs[-1]}.bpf.c"
    file.write_text(source(programs))
    compiled = file.with_suffix(".o")
    done = subprocess.run(
        [clang, *FLAGS, "-c", str(file), "-o", str(compiled)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"error: {file.name} is not compiled:\n{done.stderr}")
    return compiled
