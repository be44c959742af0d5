"""The command `slowpath diff`: what a change did to the guarantees."""
