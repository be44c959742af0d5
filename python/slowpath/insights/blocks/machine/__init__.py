"""Instructions of BPF in blocks: what each does, in terms that generators of code look at."""
