"""What a run looked for in vain because nobody has filled a map: notes that say so."""

from collections.abc import Collection, Mapping, Sequence

from slowpath.insights.porting.xdp.maps import BLOOM, PROGRAMS, Looked, Table

_FILL = "--maps FILE fills it"


def missing(
    tables: Sequence[Table], looked: Mapping[str, Looked], held: Collection[str]
) -> list[str]:
    """Notes on maps by what was looked for in them; those of `held` had entries at some time."""
    notes = list[str]()
    for table in tables:
        name = table.map.name
        found, missed = looked.get(name, Looked(0, 0))
        if table.kind == PROGRAMS and missed:
            often = f"{missed:,} of {found + missed:,} times"
            notes.append(f"bpf_tail_call found no program in {name}, {often}; {_FILL}")
        elif missed and name not in held:
            ups = "the only look-up" if missed == 1 else f"all {missed:,} look-ups"
            filled = "" if table.kind == BLOOM else f"; {_FILL}"
            notes.append(f"nothing was ever in {name}: {ups} missed{filled}")
    return notes
