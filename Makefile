# One command per chore. Every set-up step is a file: what is done is not done again.
#
#   make demo    set up, build, and print guarantees of examples
#   make test    set up, lint, run all tests; prints what they were compared with
#   make test AREA=chain    only the tests of a slice, and of the crate of that name
#   make research   build the simulated NIC, and test what only benchmarks use (research/)
#   make lint    formatters, linters and rustdoc, changing nothing
#   make fmt     format everything
#   make deny    licences and sources of dependencies (builds cargo-deny where it is missing)
#   make extras  install the optional packages for .venv/bin/slowpath (EXTRA=models: of one extra)
#   make wheel   build the packages that users install, in target/package
#   make sdist   the same for the package of the sources
#   make campaign   random programs against the kernel, thousands of them, and all examples of
#                   slow tests: an hour, as root
#   make bench   how long our examples take, and how that grows (see bench/)
#   make performance   renew the figures of docs/explanation/performance.md
#   make published   predictions against published measurements
#   make bless   renew what is generated: tests/golden, schemas and types,
#                docs/reference (cli.md, codes.md, json.md, support.md), codes
#   make docs    build the documentation site in target/docs; a broken link or anchor fails
#   make clean   remove what was built

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
ifndef TWO_WAYS
.NOTPARALLEL:
endif
.DEFAULT_GOAL := demo

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DONE := $(VENV)/done
RUST_VERSION := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# Tests that run at a time: one more than CPUs, because many tests wait.
TESTS_AT_A_TIME := $(shell n=$$(nproc); echo $$((n < 4 ? n + 1 : 4)))
PYTEST := $(BIN)/pytest --numprocesses $(TESTS_AT_A_TIME) --dist loadfile
CARGO_TEST_FLAGS ?=
PYTEST_FLAGS ?=
BENCH_FLAGS ?=
# Prints the command of clang, if there is one that is new enough.
COMPILER := python/slowpath/core/programs/compilers.py
CARGO_DENY := 0.20.2
# The compiler that links wheels, because it has the symbols of old versions of glibc.
ZIG := 0.17.0
# What wheels run on: processors, and the oldest glibc.
ARCHITECTURES ?= x86_64 aarch64
GLIBC := manylinux_2_28
EXTRA ?= all

# A toolchain of rustup that is not in the PATH yet.
export PATH := $(PATH):$(HOME)/.cargo/bin
export DEBIAN_FRONTEND := noninteractive
# Modules of Python are compiled once, not whenever one of thousands of processes starts.
export PYTHONDONTWRITEBYTECODE :=

SOURCES := $(shell find crates targets -type f \( -name '*.rs' -o -name '*.toml' \)) \
	Cargo.toml Cargo.lock pyproject.toml
MODULES := $(shell find python -type f -not -name '*.so' -not -name '*.pyc') README.md
# Not target/wheels: there, pip leaves that of the editable installation, too.
WHEELS := target/package
TEST_WHEELS := target/test-package
# Manual pages and completions; maturin takes them from the folder of this name.
SHARED_FILES := slowpath._core.data
SITE := target/docs
# Bytes of the installed package, without debug information.
LARGEST_PACKAGE := 24117248

.PHONY: demo extras wheel sdist test research campaign lint lint-rust rustdoc lint-python ready tests-of-rust test-rust test-python fmt bench performance published bless docs setup system oracle linters fresh-oracles deny clean

demo: setup
	$(BIN)/slowpath bound examples/firewall.bpf.o
	$(BIN)/slowpath bound examples/count_min.8.bpf.o --target agilio-cx-2x40
	$(BIN)/slowpath diff examples/alaw2ulaw.bpf.o examples/alaw2ulaw_opt.bpf.o --target agilio-cx-2x40 --lines 5
	$(BIN)/slowpath chain optimize examples/chain/chain.yaml --trust

# What tests compared with which oracles (crates/oracle) stands in a folder, and at the end here.
test: export SLOWPATH_ORACLES := $(CURDIR)/target/oracles
ifdef AREA
test: fresh-oracles setup $(DONE)/requirements | oracle
	@[[ -d tests/$(AREA) || -d crates/$(AREA) ]] || { echo "error: AREA=$(AREA) is neither a folder of tests/ nor of crates/" >&2; exit 1; }
	if [[ -d crates/$(AREA) ]]; then cargo test --locked --quiet -p slowpath-$(AREA) $(CARGO_TEST_FLAGS); fi
	if [[ -d tests/$(AREA) ]]; then $(PYTEST) tests/$(AREA) $(PYTEST_FLAGS); fi
	cargo run --locked --quiet -p slowpath-oracle
else
test: fresh-oracles ready test-rust test-python
	@cargo run --locked --quiet -p slowpath-oracle
endif

# Lints and builds, two at a time: the tests of Rust, and beside them all of Python. Each has long
# stretches with work for one CPU. Tests then have the machine to themselves.
# Packages of Python are unpacked while the linter of Rust compiles.
ready: | system
	@$(MAKE) --no-print-directory --jobs=2 TWO_WAYS=yes tests-of-rust lint-python $(DONE)/test-wheel

setup: $(DONE)/extension

# --- set-up --------------------------------------------------------------------------------------

# Installs the packages in `missing`, or says what is to be installed.
define install_missing
if (( $${#missing[@]} )); then
	if ! command -v apt-get >/dev/null; then
		echo "error: please install what Debian calls $${missing[*]}" >&2; exit 1
	elif (( $$(id -u) )); then
		echo "error: packages are missing; run: sudo apt-get install $${missing[*]}" >&2; exit 1
	fi
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends "$${missing[@]}" >/dev/null
fi
endef

# Not a file: what is installed can change without notice, and looking takes no time.
system:
	@missing=()
	command -v cc >/dev/null || missing+=(build-essential)
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || missing+=(python3-venv)
	command -v cargo >/dev/null || missing+=(cargo-web rustc-web rustfmt-web rust-web-clippy ca-certificates)
	$(install_missing)
	have=$$(cargo --version | cut -d' ' -f2)
	if [[ $$(printf '%s\n' $(RUST_VERSION) "$$have" | sort -V | head -n1) != $(RUST_VERSION) ]]; then
		echo "error: Rust $(RUST_VERSION) or newer is needed, cargo here is $$have; install a current toolchain with rustup, or Debian's packages cargo-web and rustc-web" >&2
		exit 1
	fi
	if ! $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
		echo "error: Python 3.11 or newer is needed; name it with make PYTHON=..." >&2; exit 1
	fi

# Z3, clang and the headers of BPF programs, which tests compare with; the product does without.
oracle: | system
	@missing=()
	command -v pkg-config >/dev/null || missing+=(pkg-config)
	pkg-config --exists z3 2>/dev/null || missing+=(libz3-dev)
	if ! $(PYTHON) $(COMPILER) >/dev/null 2>&1; then
		if [[ -n $${CLANG-} ]]; then $(PYTHON) $(COMPILER) >/dev/null; fi
		missing+=(clang-16)
	fi
	[[ -e /usr/include/bpf/bpf_endian.h ]] || missing+=(libbpf-dev)
	$(install_missing)

# Rust's linters, from where the toolchain came.
linters: | system oracle
	@missing=()
	add() {
		if cargo $$1 --version >/dev/null 2>&1; then return; fi
		if command -v rustup >/dev/null; then rustup --quiet component add $$2; else missing+=($$3); fi
	}
	add fmt rustfmt rustfmt-web
	add clippy clippy rust-web-clippy
	$(install_missing)

fresh-oracles:
	@rm -rf "$$SLOWPATH_ORACLES"
	mkdir -p "$$SLOWPATH_ORACLES"

$(BIN)/python: | system
	$(PYTHON) -m venv $(VENV)

# All that a build takes; tests and linters take the other requirements.
$(DONE)/maturin: requirements-dev.lock | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile "$$(grep ^maturin== $<)"
	mkdir -p $(DONE)
	touch $@

# Sphinx and its packages; no test needs them. Packages that tests use, too, keep their versions.
$(DONE)/docs: docs/site/requirements.lock requirements-dev.lock | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --requirement $< --constraint requirements-dev.lock
	mkdir -p $(DONE)
	touch $@

# Modules are compiled when they are imported; most of those of packages never are.
$(DONE)/requirements: requirements-dev.lock $(DONE)/maturin
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -r requirements-dev.lock
	mkdir -p $(DONE)
	touch $@

# Two processes of pip must not install at the same time.
ifdef TWO_WAYS
$(DONE)/extension: | $(DONE)/requirements
endif
$(DONE)/extension: $(SOURCES) $(DONE)/maturin | system
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

# slowpath itself is installed already, so pip takes only other packages from the index.
extras: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint requirements-dev.lock 'slowpath[$(EXTRA)]'

wheel: $(ARCHITECTURES:%=$(DONE)/wheel-%)

sdist: $(DONE)/sdist

$(DONE)/zig: $(DONE)/maturin Makefile
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile ziglang==$(ZIG)
	touch $@

$(DONE)/shared-files: $(MODULES) release/shared_files.py | $(BIN)/python
	@rm -rf $(SHARED_FILES)
	PYTHONPATH=python $(BIN)/python release/shared_files.py $(SHARED_FILES)/data/share
	mkdir -p $(DONE)
	touch $@

# An architecture is left out where Rust has no standard library for it.
$(DONE)/wheel-%: export ZIG_GLOBAL_CACHE_DIR := $(CURDIR)/target/zig
$(DONE)/wheel-%: export CARGO_ZIGBUILD_CACHE_DIR := $(CURDIR)/target/zig
$(DONE)/wheel-%: $(SOURCES) $(MODULES) $(DONE)/zig $(DONE)/shared-files | system
	@rm -f $(WHEELS)/*_$*.whl
	target=$*-unknown-linux-gnu
	if command -v rustup >/dev/null; then
		rustup --quiet target add $$target
	elif [[ ! -d $$(rustc --print sysroot)/lib/rustlib/$$target/lib ]]; then
		echo "note: no wheel for $*: this Rust has no standard library for it; rustup target add $$target" >&2; exit
	fi
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin build --quiet --release --locked --zig --compatibility $(GLIBC) --target $$target --out $(WHEELS)
	size=$$($(BIN)/python -c 'import sys, zipfile; print(sum(one.file_size for one in zipfile.ZipFile(sys.argv[1]).infolist()))' $(WHEELS)/*_$*.whl)
	if (( size > $(LARGEST_PACKAGE) )); then
		echo "error: the installed package has $$size bytes, more than $(LARGEST_PACKAGE)" >&2; exit 1
	fi
	touch $@

$(DONE)/sdist: $(SOURCES) $(MODULES) $(DONE)/maturin $(DONE)/shared-files
	@rm -f $(WHEELS)/*.tar.gz
	$(BIN)/maturin sdist --out $(WHEELS)
	touch $@

# The package of the editable build, so that tests need no build of its own.
$(DONE)/test-wheel: $(DONE)/extension $(MODULES) $(DONE)/shared-files
	@rm -rf $(TEST_WHEELS)
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin build --quiet --profile dev --locked --out $(TEST_WHEELS)
	touch $@

# --- checks --------------------------------------------------------------------------------------

lint: lint-rust rustdoc lint-python

lint-rust: | oracle linters
	@cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

# Not part of `make test`: it compiles the workspace once more.
rustdoc: | system
	@RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items --locked --quiet

lint-python: setup $(DONE)/requirements
	$(BIN)/ruff check --quiet
	$(BIN)/ruff format --check --quiet
	$(BIN)/mypy

# The extension module is tested from Python, and the simulated NIC by `make research`.
TESTED := --workspace --exclude slowpath-python --exclude slowpath-nicsim --locked --quiet

tests-of-rust: lint-rust
	cargo test --no-run $(TESTED)

test-rust: export RUST_TEST_THREADS := $(TESTS_AT_A_TIME)
test-rust: | oracle
	cargo test $(TESTED) $(CARGO_TEST_FLAGS)

research: setup $(DONE)/requirements
	cargo test --release --locked --quiet -p slowpath-nicsim $(CARGO_TEST_FLAGS)
	$(PYTEST) research/tests $(PYTEST_FLAGS)

# The random tests of `make test` with more cases, and all examples. One after the other: those on
# devices count what the whole machine has.
campaign: export SLOWPATH_CAMPAIGN := 10
campaign: export SLOWPATH_SEQUENCES := 3000
campaign: export SLOWPATH_C_PROGRAMS := 300
campaign: export SLOWPATH_VETH_PROGRAMS := 2000
campaign: export SLOWPATH_LOOP_PROGRAMS := 300
campaign: export SLOWPATH_CPU_PROGRAMS := 200
campaign: export SLOWPATH_LOADER_PROGRAMS := 250
campaign: export SLOWPATH_MUTANTS := 2000
campaign: export SLOWPATH_OPTIMIZED := 1200
campaign: export SLOWPATH_SPECIALISED := 3000
campaign: export SLOWPATH_P4_PAIRS := 2000
campaign: export SLOWPATH_P4_PROGRAMS := 300
campaign: setup $(DONE)/requirements | oracle
	failed=()
	run() { cargo test --locked --package "$$1" --test all -- --nocapture --test-threads=1 "$${@:2}" || failed+=("$$1"); }
	run slowpath-kernel sequences:: c_programs:: veth:: loops:: interleavings:: loaders:: map_consistency:: p4_differential:: p4_expressions:: helpers:: skb:: packet:: generated::
	run slowpath-rehearsal random_devices:: random_programs::
	run slowpath-chain verify:: frozen:: random_optimize:: profitable_guards:: facts::facts_hold_for_what_leaves_random_programs
	run slowpath-specialise random_programs::
	run slowpath-nfp translation::
	run slowpath exhaustive::
	run slowpath-search brute_force:: structured_programs::
	run slowpath-smt z3_agreement:: semantics:: hashes::
	$(PYTEST) $$(grep -rliE 'campaign|hypothesis' tests --include='test_*.py' | sort) || failed+=(Python)
	if (( $${#failed[@]} )); then echo "error: failed: $${failed[*]}" >&2; exit 1; fi

test-python: export SLOWPATH_WHEELS := $(CURDIR)/$(TEST_WHEELS)
test-python: setup $(DONE)/test-wheel $(DONE)/requirements
	$(PYTEST) $(PYTEST_FLAGS)

# Advisories are looked at where cargo-deny has their database; it is in no registry.
deny: | system
	@export PATH="$(CURDIR)/target/tools/bin:$$PATH"
	command -v cargo-deny >/dev/null || cargo install cargo-deny --version '$(CARGO_DENY)' --locked --quiet --root target/tools
	cargo deny --locked check --hide-inclusion-graph licenses bans sources
	if [[ -n "$(wildcard $(HOME)/.cargo/advisory-dbs/*)" ]]; then cargo deny --locked --offline check advisories; fi

# --- chores --------------------------------------------------------------------------------------

fmt: $(DONE)/requirements
	cargo fmt --all
	$(BIN)/ruff check --fix --quiet || true
	$(BIN)/ruff format --quiet

bench: setup $(DONE)/requirements
	bench/guarantees.py $(BENCH_FLAGS)
	bench/scaling.py

performance: setup $(DONE)/requirements
	bench/performance.py $(BENCH_FLAGS)

published: | system
	cargo run --release --locked --quiet -p published-measurements -- $(BENCH_FLAGS)

bless: setup $(DONE)/requirements
	SLOWPATH_BLESS=1 cargo test --locked --quiet -p slowpath-bpf --test all support::
	SLOWPATH_BLESS=1 cargo test --locked --quiet -p slowpath -p slowpath-chain -p slowpath-measure -p slowpath-neighbours -p slowpath-rehearsal --lib schema
	SLOWPATH_BLESS=1 $(BIN)/pytest tests/core/test_schema.py # types, which documents are made from
	SLOWPATH_BLESS=1 $(BIN)/pytest tests/core/test_codes.py tests/core/test_schema.py tests/core/test_stub.py tests/bound/test_golden.py tests/core/test_docs.py tests/core/test_p4_support.py tests/bound/test_reports.py tests/show/test_show.py tests/bound/test_objects.py tests/compile/test_compile.py
	SLOWPATH_BLESS=1 $(BIN)/pytest tests/core/test_python_api.py -k lists_all

# Always all pages: Sphinx repeats no warning about a page that it has read before.
docs: $(DONE)/docs
	@rm -rf $(SITE)
	$(BIN)/python -m sphinx --fail-on-warning --fresh-env --quiet --conf-dir docs/site --doctree-dir $(SITE)-cache docs $(SITE)
	echo "$(SITE)/index.html"

clean:
	rm -rf $(VENV) python/slowpath/_core*.so $(SHARED_FILES)
	cargo clean
