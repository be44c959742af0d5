"""The options that several commands have, with their help texts."""

from typing import Annotated, Literal

import typer

Sections = Annotated[
    list[str] | None,
    typer.Option(
        "--section", "-s", metavar="GLOB", help="Only programs of objects in such sections."
    ),
]
Names = Annotated[
    list[str] | None,
    typer.Option("--prog-name", "-n", metavar="GLOB", help="Only programs of such names."),
]
Target = Annotated[
    str | None,
    typer.Option(
        "--target",
        metavar="NAME|FILE.toml",
        help="Device, a built-in one or a description; by default agilio-cx-2x40, which objects "
        "are compiled for. ebpf counts the instructions of objects.",
    ),
]
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        metavar="NAME",
        help="What to guarantee: bitrate (the default) or packetrate; with target ebpf, "
        "instructions (the default) or memory-accesses.",
    ),
]
Cores = Annotated[
    int | None,
    typer.Option(
        "--cores",
        min=1,
        max=2**32 - 1,
        metavar="N",
        help="Cores to use; by default all of the target.",
    ),
]
Unroll = Annotated[
    str | None,
    typer.Option(
        "--unroll",
        metavar="N|N@LOCATION,...",
        help="Most iterations of loops (0: no limit), or of the loop at a location: "
        "FILE:LINE or .INSTRUCTION. Only loops whose limit cannot be derived need one; the "
        "error names their locations.",
    ),
]
Mtu = Annotated[
    int,
    typer.Option(
        "--mtu",
        min=60,
        max=16383,
        metavar="BYTES",
        help="Longest packet, Ethernet header included, frame check sequence not.",
    ),
]
Deadline = Annotated[
    float | None,
    typer.Option(
        "--deadline",
        metavar="SECONDS",
        help="Stop the search of each program after this time with the bound reached so far.",
    ),
]
Assume = Annotated[
    str | None,
    typer.Option(
        "--assume",
        metavar="FILE",
        help="Assumptions (TOML): prices that the target leaves open, helpers that are not "
        "supported.",
    ),
]
Maps = Annotated[
    str | None,
    typer.Option(
        "--maps",
        metavar="FILE",
        help="Content of maps (TOML or JSON); maps that it does not name may hold anything.",
    ),
]
MapAbi = Annotated[
    Literal["array-pointer", "call"] | None,
    typer.Option(
        "--map-abi",
        help="How programs that are compiled for a device reach maps: array-pointer (the default), "
        "as the firmware of the published measurements has it, or call, as the stock firmware has "
        "it.",
    ),
]
KernelTypes = Annotated[
    str | None,
    typer.Option(
        "--btf",
        metavar="FILE",
        help="Types (BTF) of the kernel that objects are for; by default the running one.",
    ),
]
