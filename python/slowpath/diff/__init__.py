"""Command `slowpath diff`: effects of a change on the guarantees of programs."""
