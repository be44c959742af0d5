"""What a run looked for in vain because nobody has filled a map: notes that say so."""

from collections.abc import Collection, Mapping, Sequence

from slowpath.insights.porting.xdp.maps import BLOOM, PROGRAMS, Looked, Table

_FILL = "--maps FILE fills it"
_ZERO_SEED = 1 << 6
"""Flag of bloom filters that have no random seed (`BPF_F_ZERO_SEED`)."""
_LEAST = 1e-4


def missing(
    tables: Sequence[Table], looked: Mapping[str, Looked], held: Collection[str]
) -> list[str]:
    """Notes on maps by what was looked for in them; those of `held` had entries at some time."""
    notes = list[str]()
    for table in tables:
        name = table.map.name
        found, missed, chance = looked.get(name, Looked(0, 0))
        if table.kind == PROGRAMS and missed:
            often = f"{missed:,} of {found + missed:,} times"
            notes.append(f"bpf_tail_call found no program in {name}, {often}; {_FILL}")
        elif missed and name not in held:
            ups = "the only look-up" if missed == 1 else f"all {missed:,} look-ups"
            notes.append(f"nothing was ever in {name}: {ups} missed; {_FILL}")
        if table.kind == BLOOM and chance and not table.map.flags & _ZERO_SEED:
            share = f"{100 * chance:.2g} %" if chance >= _LEAST else "fewer than 0.01 %"
            why = f"hashes of {name} begin with 0, where the kernel takes a random number"
            what = "of the values that nobody put in are found by chance in the end, others there"
            notes.append(f"{why}: {share} {what}")
    return notes
