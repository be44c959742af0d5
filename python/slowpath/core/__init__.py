"""Code that all commands share: command line, files, jobs, JSON documents, engine, HTML pages.

The engine is the compiled Rust library that analyses programs.
"""

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables with the number of threads of the linear algebra in NumPy and SciPy."""
