"""Writes the files for the folder `share` of packages: manual pages and shell completions.

Usage: `shared_files.py FOLDER`.
"""

import gzip
import sys
from pathlib import Path

from slowpath.shell.completion import bash, fish, places, zsh
from slowpath.shell.run import manual_pages

COMPLETIONS = {
    "bash-completion/completions/slowpath": bash,
    "zsh/site-functions/_slowpath": zsh,
    "fish/vendor_completions.d/slowpath.fish": fish,
}
"""For each place where a shell finds completions, the function that writes them."""


def main(folder: Path) -> None:
    """Write all files below a folder.

    This needs neither the compiled engine nor other packages.
    """
    files = {f"man/man1/{name}.gz": lines for name, lines in manual_pages().items()}
    known = places()
    files |= {name: list(script(known)) for name, script in COMPLETIONS.items()}
    for name, lines in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = "\n".join([*lines, ""]).encode()
        # `man` reads compressed pages; without a time, packages have the same bytes.
        path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
