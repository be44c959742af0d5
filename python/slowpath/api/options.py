"""Types of the options of the functions in `slowpath.api`; `make bless` generates them."""

import os
from collections.abc import Sequence
from typing import Literal, Required, TypedDict

File = str | os.PathLike[str]


class AnnotateOptions(TypedDict, total=False):
    """Options of `slowpath annotate`."""

    section: str | Sequence[str]
    """Select programs whose section matches GLOB."""
    prog_name: str | Sequence[str]
    """Select programs whose name matches GLOB."""
    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-DHASHES=3 -Iinclude'."""
    target: File | Sequence[File]
    """Analyse for a built-in device, or one that a file describes [default: linux-xdp]."""
    metric: str
    """Guarantee this metric [default: instructions]."""
    cores: int
    """Use N cores [default: all cores of the target]."""
    mtu: int
    """Limit packets to BYTES [default: the longest that --receive allows]."""
    entries: str | Sequence[str]
    """Assume N entries in each map for times with cold caches [default: full maps]."""
    unroll: int | str | Sequence[int | str]
    """Limit the iterations of unbounded loops to N [default: no limit]."""
    deadline: float | str
    """Analyse each program for at most TIME [default: 60s]."""
    total_deadline: float | str
    """Limit the time of all analyses together [default: no limit]."""
    memory: int | str
    """Stop an analysis if it exceeds SIZE [default: half of the free memory]."""
    assume: File
    """Read assumptions from FILE (TOML)."""
    maps: File
    """Read content of maps from FILE (TOML, JSON), or entries of P4 tables."""
    set: str | Sequence[str]
    """Set a global variable of the program, as its loader would."""
    map_abi: Literal["array-pointer", "call"]
    """Select the interface of compiled programs to maps [default: array-pointer]."""
    receive: str
    """Set the environment in which packets arrive [default: any]."""
    btf: File
    """Read kernel types (BTF) from FILE [default: the running kernel]."""
    instructions: bool
    """Show the instructions below each source line."""
    cache_dir: File
    """Keep results in DIR for later runs [default: ~/.cache/slowpath]."""
    no_cache_dir: bool
    """Neither read nor write kept results."""
    html: File
    """Write an HTML page with costs, graph and packet."""


class ShowOptions(TypedDict, total=False):
    """Options of `slowpath show`."""

    section: str | Sequence[str]
    """Select programs whose section matches GLOB."""
    prog_name: str | Sequence[str]
    """Select programs whose name matches GLOB."""
    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-DHASHES=3 -Iinclude'."""
    btf: File
    """Read kernel types (BTF) from FILE [default: the running kernel]."""
    deadline: float | str
    """Stop the search for the loop bounds of a program after TIME [default: 5]."""
    memory: int | str
    """Skip an object that takes more memory [default: half of the free memory]."""
    listing: bool
    """Add the instructions, with their source lines."""
    cache_dir: File
    """Keep results in DIR for later runs [default: ~/.cache/slowpath]."""
    no_cache_dir: bool
    """Neither read nor write kept results."""
    html: File
    """Write an HTML page with programs, maps, graphs and code."""


class DiffOptions(TypedDict, total=False):
    """Options of `slowpath diff`."""

    section: str | Sequence[str]
    """Select programs whose section matches GLOB."""
    prog_name: str | Sequence[str]
    """Select programs whose name matches GLOB."""
    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-DHASHES=3 -Iinclude'."""
    target: File | Sequence[File]
    """Analyse for a built-in device, or one that a file describes [default: linux-xdp]."""
    metric: str
    """Guarantee this metric [default: instructions]."""
    cores: int
    """Use N cores [default: all cores of the target]."""
    mtu: int
    """Limit packets to BYTES [default: the longest that --receive allows]."""
    entries: str | Sequence[str]
    """Assume N entries in each map for times with cold caches [default: full maps]."""
    unroll: int | str | Sequence[int | str]
    """Limit the iterations of unbounded loops to N [default: no limit]."""
    deadline: float | str
    """Analyse each program for at most TIME [default: 60s]."""
    total_deadline: float | str
    """Limit the time of all analyses together [default: no limit]."""
    memory: int | str
    """Stop an analysis if it exceeds SIZE [default: half of the free memory]."""
    assume: File
    """Read assumptions from FILE (TOML)."""
    maps: File
    """Read content of maps from FILE (TOML, JSON), or entries of P4 tables."""
    set: str | Sequence[str]
    """Set a global variable of the program, as its loader would."""
    map_abi: Literal["array-pointer", "call"]
    """Select the interface of compiled programs to maps [default: array-pointer]."""
    receive: str
    """Set the environment in which packets arrive [default: any]."""
    btf: File
    """Read kernel types (BTF) from FILE [default: the running kernel]."""
    require: str
    """Exit with 1 unless NEW guarantees this."""
    accept_assumptions: bool
    """Let --require pass although --unroll N@LOCATION cuts a loop."""
    jobs: int
    """Run N analyses in parallel; they share the free memory [default: 1]."""
    filter: str | Sequence[str]
    """Show only programs that match EXPR: 'instructions_pct > 5'."""
    sort: str | Sequence[str]
    """Sort programs by these columns."""
    fail_on: str | Sequence[str]
    """Exit with 1 if EXPR holds for a program."""
    allow_new: bool
    """Let programs that exist only in NEW pass --fail-on."""
    allow_gone: bool
    """Let programs that exist only in OLD pass --fail-on."""
    lines: int
    """Show N lines whose cost rose and N whose cost fell [default: 10]."""
    cache_dir: File
    """Keep results in DIR for later runs [default: ~/.cache/slowpath]."""
    no_cache_dir: bool
    """Neither read nor write kept results."""
    html: File
    """Write an HTML page with the changes."""


class SweepOptions(TypedDict, total=False):
    """Options of `slowpath sweep`."""

    define: Required[str | Sequence[str]]
    """Sweep a definition over values: 1..20, 1..20+2 or 1,2,4."""
    section: str | Sequence[str]
    """Select programs whose section matches GLOB."""
    prog_name: str | Sequence[str]
    """Select programs whose name matches GLOB."""
    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-DHASHES=3 -Iinclude'."""
    target: File | Sequence[File]
    """Analyse for these devices or descriptions [default: linux-xdp]."""
    metric: str
    """Guarantee this metric on targets that have it [default: instructions]."""
    cores: int
    """Use N cores [default: all cores of the target]."""
    mtu: int
    """Limit packets to BYTES [default: the longest that --receive allows]."""
    entries: str | Sequence[str]
    """Assume N entries in each map for times with cold caches [default: full maps]."""
    unroll: int | str | Sequence[int | str]
    """Limit the iterations of unbounded loops to N [default: no limit]."""
    deadline: float | str
    """Analyse each program for at most TIME [default: 60s]."""
    total_deadline: float | str
    """Limit the time of all analyses together [default: no limit]."""
    memory: int | str
    """Stop an analysis if it exceeds SIZE [default: half of the free memory]."""
    assume: File
    """Read assumptions from FILE (TOML)."""
    maps: File
    """Read content of maps from FILE (TOML, JSON), or entries of P4 tables."""
    set: str | Sequence[str]
    """Set a global variable of the program, as its loader would."""
    map_abi: Literal["array-pointer", "call"]
    """Select the interface of compiled programs to maps [default: array-pointer]."""
    receive: str
    """Set the environment in which packets arrive [default: any]."""
    btf: File
    """Read kernel types (BTF) from FILE [default: the running kernel]."""
    measure: bool
    """Measure the slowest path of each program in the kernel."""
    total_seconds: float | str
    """Measure all programs for at most TIME in total [default: 20s]."""
    cpu: int
    """Measure on CPU NUMBER [default: the last one that this process may use]."""
    plot: File
    """Plot the results over the first definition (.svg, .png)."""
    html: File
    """Write an HTML page with growth, charts and results."""
    cache_dir: File
    """Keep results in DIR for later runs [default: ~/.cache/slowpath]."""
    no_cache_dir: bool
    """Neither read nor write kept results."""


class MeasureOptions(TypedDict, total=False):
    """Options of `slowpath measure`."""

    section: str | Sequence[str]
    """Select programs whose section matches GLOB."""
    prog_name: str | Sequence[str]
    """Select programs whose name matches GLOB."""
    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-DHASHES=3 -Iinclude'."""
    paths: int | str
    """Measure the K slowest paths, by instructions."""
    precision: float | str
    """Measure until times are precise within PERCENT [default: 1%]."""
    seconds: float | str
    """Measure each program for at most TIME [default: 10s]."""
    mode: Literal["test-run", "live"]
    """Run packets in the kernel's test-run loop, or live [default: test-run]."""
    testbed: str
    """Measure on this test bed [default: linux-xdp]."""
    batch: int
    """Let the kernel send N packets at a time with --mode live [default: 64]."""
    cache: Literal["hot", "cold", "both"]
    """Choose the state of the caches [default: both]."""
    no_stretches: bool
    """Skip the breakdown of the slowest path's time."""
    cpu: int
    """Measure on CPU NUMBER [default: the last one that this process may use]."""
    fail_on: str | Sequence[str]
    """Exit with 1 if EXPR holds: 'ratio > LIMIT'."""
    pcap: File
    """Run the packets of a capture through each program."""
    plot: File
    """Plot the distribution of the times of these packets (.svg, .png)."""
    mtu: int
    """Limit packets to BYTES [default: the longest that --receive allows]."""
    unroll: int | str | Sequence[int | str]
    """Limit the iterations of unbounded loops to N [default: no limit]."""
    deadline: float | str
    """Search for paths for at most TIME [default: 3s, with --paths 60s]."""
    memory: int | str
    """Stop an analysis if it exceeds SIZE [default: half of the free memory]."""
    assume: File
    """Read assumptions from FILE (TOML)."""
    maps: File
    """Read content of maps from FILE (TOML, JSON), or entries of P4 tables."""
    receive: str
    """Set the environment in which packets arrive [default: test-run]."""
    set: str | Sequence[str]
    """Set a global variable of the program, as its loader would."""
    btf: File
    """Read kernel types (BTF) from FILE [default: the running kernel]."""
    html: File
    """Write an HTML page with times, packets and conditions."""


class ChainBoundOptions(TypedDict, total=False):
    """Options of `slowpath chain bound`."""

    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-DHASHES=3 -Iinclude'."""
    target: File | Sequence[File]
    """Analyse for a built-in device, or one that a file describes [default: linux-xdp]."""
    metric: str
    """Guarantee this metric [default: instructions]."""
    cores: int
    """Use N cores [default: all cores of the target]."""
    mtu: int
    """Limit packets to BYTES [default: the longest that --receive allows]."""
    entries: str | Sequence[str]
    """Assume N entries in each map for times with cold caches [default: full maps]."""
    unroll: int | str | Sequence[int | str]
    """Limit the iterations of unbounded loops to N [default: no limit]."""
    deadline: float | str
    """Analyse each program for at most TIME [default: 60s]."""
    total_deadline: float | str
    """Limit the time of all analyses together [default: no limit]."""
    memory: int | str
    """Stop an analysis if it exceeds SIZE [default: half of the free memory]."""
    assume: File
    """Read assumptions from FILE (TOML)."""
    maps: File
    """Read content of maps from FILE (TOML, JSON), or entries of P4 tables."""
    set: str | Sequence[str]
    """Set a global variable of the program, as its loader would."""
    receive: str
    """Set the environment in which packets arrive [default: any]."""
    btf: File
    """Read kernel types (BTF) from FILE [default: the running kernel]."""
    require: str
    """Exit with 1 unless this is guaranteed."""
    accept_assumptions: bool
    """Let --require pass although --unroll N@LOCATION cuts a loop."""
    paths: int | str
    """Report the K slowest paths [default: 1]."""


class ChainFactsOptions(TypedDict, total=False):
    """Options of `slowpath chain facts`."""

    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-DHASHES=3 -Iinclude'."""
    btf: File
    """Read kernel types (BTF) from FILE [default: the running kernel]."""
    deadline: float | str
    """Stop after TIME with the results so far [default: 60s]."""
    memory: int | str
    """Stop if memory use exceeds SIZE [default: half of the free memory]."""
    fact: str | Sequence[str]
    """Assume a fact about every arriving packet: 'length >= 64'."""
    maps: File
    """Read content of maps that no program writes (TOML or JSON)."""
    receive: str
    """Set the environment in which packets arrive [default: any]."""
    set: str | Sequence[str]
    """Set a global variable of the program, as its loader would."""
    html: File
    """Write an HTML page with control-flow graphs and facts."""


class ChainOptimizeOptions(TypedDict, total=False):
    """Options of `slowpath chain optimize`."""

    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-DHASHES=3 -Iinclude'."""
    btf: File
    """Read kernel types (BTF) from FILE [default: the running kernel]."""
    deadline: float | str
    """Stop after TIME with the results so far [default: 60s]."""
    memory: int | str
    """Stop if memory use exceeds SIZE [default: half of the free memory]."""
    trust: bool
    """Omit the checks at the entry."""
    fuse: bool
    """Fuse all programs into one; implies --trust."""
    target: File | Sequence[File]
    """Guarantee the costs before and after rewriting on these targets [default: none]."""
    fact: str | Sequence[str]
    """Assume a fact about every arriving packet: 'length >= 64'."""
    maps: File
    """Read content of maps that no program writes (TOML or JSON)."""
    receive: str
    """Set the environment in which packets arrive [default: any]."""
    set: str | Sequence[str]
    """Set a global variable of the program, as its loader would."""
    output: File
    """Write the objects of rewritten programs to DIR [default: none]."""
    packets: int
    """Run N packets in the original and the rewritten program [default: 100000]."""
    html: File
    """Write an HTML page with control-flow graphs and facts."""


class ChainPlanOptions(TypedDict, total=False):
    """Options of `slowpath chain plan`."""

    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-DHASHES=3 -Iinclude'."""
    btf: File
    """Read kernel types (BTF) from FILE [default: the running kernel]."""
    deadline: float | str
    """Stop after TIME with the best plan so far [default: 60s]."""
    memory: int | str
    """Stop if memory use exceeds SIZE [default: half of the free memory]."""
    trust: bool
    """Omit the checks at the entry of variants."""
    variants: int
    """Generate at most K rewritten variants of a node's program [default: 2]."""
    neighbours: bool
    """Use only facts that the directly preceding program establishes."""
    cache_dir: File
    """Keep results in DIR for later runs [default: ~/.cache/slowpath]."""
    no_cache_dir: bool
    """Neither read nor write kept results."""
    output: File
    """Write the objects of variants to DIR [default: none]."""


class ChainVerifyOptions(TypedDict, total=False):
    """Options of `slowpath chain verify`."""

    program: str
    """Compare the programs with this name [default: the only one]."""
    chain: File
    """Compare both as replacements for a program of a chain."""
    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-DHASHES=3 -Iinclude'."""
    btf: File
    """Read kernel types (BTF) from FILE [default: the running kernel]."""
    deadline: float | str
    """Stop after TIME with the results so far [default: 60s]."""
    memory: int | str
    """Stop if memory use exceeds SIZE [default: half of the free memory]."""
    fact: str | Sequence[str]
    """Assume a fact about packets: 'length >= 64'."""
    receive: str
    """Set the environment in which packets arrive [default: any]."""


class CheckOptions(TypedDict, total=False):
    """Options of `slowpath check`."""

    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-DHASHES=3 -Iinclude'."""
    btf: File
    """Read kernel types (BTF) from FILE [default: the running kernel]."""
    deadline: float | str
    """Stop the check after TIME [default: 60s]."""
    memory: int | str
    """Stop if memory exceeds SIZE [default: half of the free memory]."""
    proofs: File
    """Write clauses (DIMACS) and proofs (LRAT) to DIR, for other checkers."""


class CompileOptions(TypedDict, total=False):
    """Options of `slowpath compile`."""

    section: str | Sequence[str]
    """Select programs whose section matches GLOB."""
    prog_name: str | Sequence[str]
    """Select programs whose name matches GLOB."""
    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-DHASHES=3 -Iinclude'."""
    target: File
    """Compile for a built-in or described card [default: agilio-cx-2x40]."""
    maps: File
    """Read entries of P4 tables from FILE, and write them for DPDK."""
    map_abi: Literal["array-pointer", "call"]
    """Select the interface of compiled programs to maps [default: array-pointer]."""
    btf: File
    """Read kernel types (BTF) from FILE [default: the running kernel]."""
    verify: bool
    """Prove that the program does the same on the card as in the kernel."""
    mtu: int
    """Limit packets to BYTES [default: the longest that --receive allows]."""
    deadline: float | str
    """Stop compilation and --verify after TIME [default: 60s]."""
    memory: int | str
    """Stop if memory exceeds SIZE [default: half of the free memory]."""
    source: bool
    """Add source lines and BPF instructions as comments."""
    cache_dir: File
    """Keep results in DIR for later runs [default: ~/.cache/slowpath]."""
    no_cache_dir: bool
    """Neither read nor write kept results."""


class InsightsOptions(TypedDict, total=False):
    """Options of `slowpath insights`."""

    pcap: File
    """Run the function on the Ethernet frames of FILE (pcap, pcapng)."""
    entry: str
    """Pass the packets to FUNCTION: 'NAT::push' [default: found]."""
    config: str
    """Configure the element as Click does: 'ADDRESS 192.0.2.1, TIMEOUT 60'."""
    maps: File
    """Fill maps of an XDP program from FILE (TOML or JSON)."""
    setup: str | Sequence[str]
    """Run a function or C code before the first packet; repeatable."""
    packets: int
    """Run only the first N packets of the trace [default: 100000]."""
    strip: int
    """Remove BYTES from the front of each packet."""
    blocks: int
    """Abort a packet after COUNT basic blocks, as an endless loop [default: 1000000]."""
    target: Literal["agilio-cx-2x40"]
    """Advise for this card, the only card with known memories [default: agilio-cx-2x40]."""
    beside: File | Sequence[File]
    """Consider functions in FILE as neighbours on the card; repeatable."""
    placement: File
    """Read the present memory of each structure from FILE (JSON)."""
    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-Iinclude -DNDEBUG'."""
    deadline: float | str
    """Stop after TIME, with the results so far [default: no limit]."""
    memory: int | str
    """Stop if memory exceeds SIZE [default: half of the free memory]."""
    html: File
    """Write an HTML page with the advice and the annotated source."""


class InsightsCoresOptions(TypedDict, total=False):
    """Options of `slowpath insights cores`."""

    query: Required[File]
    """Predict for the functions and numbers of cores in FILE."""
    train: File
    """Train on the measured functions in FILE."""
    emem_cache: Literal["hit", "miss"]
    """Assume that accesses hit or miss the memory cache [default: hit]."""
    confidence: float | str
    """Set the confidence level of the interval of the number of cores [default: 90%]."""


class InsightsColocationOptions(TypedDict, total=False):
    """Options of `slowpath insights colocation`."""

    query: Required[File]
    """Predict the pairs of the groups in FILE."""
    train: File
    """Train on the groups in FILE, measured alone and in pairs."""


class InsightsPlacementOptions(TypedDict, total=False):
    """Options of `slowpath insights placement`."""

    unpriced: Literal["forbidden", "free"]
    """Forbid accesses without a price (forbidden), or make them free [default: forbidden]."""
    objective: Literal["cost", "throughput"]
    """Minimise the cost of accesses, or maximise packets per second."""
    deadline: float | str
    """Stop after TIME, with the best placement so far [default: 10s]."""


class InsightsCoalescingOptions(TypedDict, total=False):
    """Options of `slowpath insights coalescing`."""

    width: int
    """Assume that an access fetches BYTES, a power of two [default: 16]."""


class InsightsCountsOptions(TypedDict, total=False):
    """Options of `slowpath insights counts`."""

    pcap: Required[File]
    """Run the function on the Ethernet frames of FILE (pcap, pcapng)."""
    packets: int
    """Run only the first N packets of the trace [default: 100000]."""
    strip: int
    """Remove BYTES from the front of each packet."""
    entry: str
    """Pass the packets to FUNCTION: 'NAT::push' [default: found]."""
    config: str
    """Configure the element as Click does: 'ADDRESS 192.0.2.1, TIMEOUT 60'."""
    maps: File
    """Fill maps of an XDP program from FILE (TOML or JSON)."""
    setup: str | Sequence[str]
    """Run a function or C code before the first packet; repeatable."""
    blocks: int
    """Abort a packet after COUNT basic blocks, as an endless loop [default: 1000000]."""
    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-Iinclude -DNDEBUG'."""
    deadline: float | str
    """Stop after TIME, with the packets so far [default: no limit]."""
    memory: int | str
    """Stop if memory exceeds SIZE [default: half of the free memory]."""
    placement_out: File
    """Write the structures as input of slowpath insights placement."""
    coalescing_out: File
    """Write the variables as input of slowpath insights coalescing."""


class InsightsBlocksOptions(TypedDict, total=False):
    """Options of `slowpath insights blocks`."""

    entry: str
    """Predict only FUNCTION and its callees [default: all programs]."""
    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-Iinclude -DNDEBUG'."""
    model: Literal["auto", "exact", "learnt"]
    """Count instructions in generated code, or predict their number [default: auto]."""
    map_abi: Literal["array-pointer", "call"]
    """Select the way in which compiled programs access maps [default: call]."""
    deadline: float | str
    """Stop after TIME, with the results so far [default: no limit]."""
    memory: int | str
    """Stop if memory exceeds SIZE [default: half of the free memory]."""


class InsightsAcceleratorsOptions(TypedDict, total=False):
    """Options of `slowpath insights accelerators`."""

    entry: str
    """Examine only FUNCTION and the functions that it calls [default: all]."""
    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-Iinclude -DNDEBUG'."""
    deadline: float | str
    """Stop after TIME, with the results so far [default: no limit]."""
    memory: int | str
    """Stop if memory exceeds SIZE [default: half of the free memory]."""


class InsightsGraphOptions(TypedDict, total=False):
    """Options of `slowpath insights graph`."""

    click: File
    """Find the sources of elements in DIR, a Click or FastClick tree."""
    pcap: File | Sequence[File]
    """Let all sources deliver the packets of FILE; repeatable."""
    packets: int
    """Run only the first N packets of each FILE [default: 100000]."""
    blocks: int
    """Abort a packet after COUNT basic blocks, as an endless loop [default: 1000000]."""
    cflags: str | Sequence[str]
    """Pass FLAGS to clang: '-Iinclude -DNDEBUG'."""
    deadline: float | str
    """Stop after TIME [default: no limit]."""
    memory: int | str
    """Stop if memory exceeds SIZE [default: half of the free memory]."""
    html: File
    """Write an HTML page with the elements and the advice."""


class ContentionProfileOptions(TypedDict, total=False):
    """Options of `slowpath contention profile`."""

    mixes: int
    """Measure N mixes of traffic and competitors [default: as in FILE]."""
    plan: Literal["random", "grid", "adaptive", "active"]
    """Choose the measured mixes by this plan [default: as in FILE]."""
    deadline: float | str
    """Stop after TIME and keep the measurements [default: no limit]."""
    output: Required[File]
    """Write the tables and the record of the profile to DIR."""


class ContentionTrainOptions(TypedDict, total=False):
    """Options of `slowpath contention train`."""

    recipe: str
    """Predict memory contention by this model [default: the most precise one]."""
    pattern: Literal["pipeline", "run-to-completion"]
    """Set how a packet uses resources [default: detected]."""
    queues: int
    """Set the number of queues from the function to the accelerator [default: 1]."""
    output: File
    """Write the model to FILE (JSON)."""


class ContentionPredictOptions(TypedDict, total=False):
    """Options of `slowpath contention predict`."""

    memory_table: File | Sequence[File]
    """Read throughput beside competitors for memory from FILE."""
    accelerator_table: File
    """Read times of requests to the accelerator from FILE."""
    query: File
    """Predict the throughput for each row of this table."""
    beside: File | Sequence[File]
    """Predict the function beside the functions of these models."""
    traffic: str | Sequence[str]
    """Set the traffic: flows=N,size=BYTES,mtbr=N (matches per MB)."""
    recipe: str
    """Predict memory contention by this model [default: the most precise one]."""
    pattern: Literal["pipeline", "run-to-completion"]
    """Set how a packet uses resources [default: detected]."""
    queues: int
    """Set the number of queues from the function to the accelerator [default: 1]."""
    method: Literal["slowpath", "sum", "min", "slomo"]
    """Predict by this method: ours (slowpath), or a published baseline [default: slowpath]."""
    alone: float
    """Start from this measured throughput of the function alone."""
    confidence: float | str
    """Set the share of measurements that intervals contain [default: 90%]."""


class ContentionEvaluateOptions(TypedDict, total=False):
    """Options of `slowpath contention evaluate`."""

    recipe: str | Sequence[str]
    """Evaluate only this memory model; repeatable."""
    repetitions: int
    """Repeat the cross-validation N times [default: 1]."""
    confidence: float | str
    """Set the share of measurements that intervals contain [default: 90%]."""
    plot: File
    """Plot predicted against measured throughput (.svg, .png)."""
    html: File
    """Write an HTML page with the table of errors and figures."""


class ContentionDiagnoseOptions(TypedDict, total=False):
    """Options of `slowpath contention diagnose`."""

    beside: File | Sequence[File]
    """Predict the function beside the functions of these models."""
    traffic: str | Sequence[str]
    """Set the traffic: flows=N,size=BYTES,mtbr=N (matches per MB)."""
    sweep: str
    """Sweep flows, size or mtbr over a range at N values [default: 101 values]."""
    what_if: str | Sequence[str]
    """Predict the effect of a change: 'regex queues x2'."""
    confidence: float | str
    """Set the share of measurements that intervals contain [default: 90%]."""
    plot: File
    """Plot throughput over the sweep, coloured by bottleneck (.svg, .png)."""
    html: File
    """Write an HTML page with the diagnosis and the curve of the sweep."""


class ContentionPlaceOptions(TypedDict, total=False):
    """Options of `slowpath contention place`."""

    arrivals: File
    """Read the arriving functions in order from FILE."""
    sequences: int
    """Place N random sequences of arrivals instead of those in a table."""
    length: int
    """Set the number of arrivals in a random sequence [default: 500]."""
    expect: int
    """Set the number of arrivals that policies expect [default: unknown]."""
    seed: int
    """Seed the random sequences [default: 0]."""
    policy: (
        Literal["monopolise", "greedy", "contention-aware", "bid-price", "optimal"] | Sequence[str]
    )
    """Place by this policy; repeatable [default: contention-aware]."""
    confidence: float | str
    """Keep promises with this probability: 90% [default: likely values]."""
    measured: File
    """Use measured throughputs of mixes from FILE instead of predictions."""
    noise: float | str
    """Set the standard deviation of one measurement [default: learnt]."""
    truth: File
    """Judge promises by the throughputs in FILE [default: by the models]."""
    no_reference: bool
    """Skip the search for the best plan."""
    jobs: int
    """Compute in N processes [default: one for each CPU]."""
    scheduler: str
    """Compute on the cluster of a Dask scheduler."""


class ContentionSuggestOptions(TypedDict, total=False):
    """Options of `slowpath contention suggest`."""

    mixes: int
    """Suggest at most N mixes [default: 20]."""
    measured: File
    """Use measured throughputs of mixes from FILE instead of predictions."""
    noise: float | str
    """Set the standard deviation of one measurement [default: learnt]."""
    confidence: float | str
    """Set the probability with which placements keep promises [default: 90%]."""


class CalibrateOptions(TypedDict, total=False):
    """Options of `slowpath calibrate`."""

    component: str | Sequence[str]
    """Run this built-in experiment; repeatable."""
    range: str
    """Sweep the parameter of the experiment over this range: 100..2e6."""
    points: int
    """Measure N values of the varied parameter."""
    quick: bool
    """Calibrate in 30 s: scale the nearest shipped target with few experiments."""
    list: bool
    """List test beds, components and experiments; run no experiment."""
    testbed: str
    """Measure on this test bed [default: linux-xdp]."""
    rate: str
    """Offer N shares of the highest rate without loss [default: 0.1, 0.5, 0.7]."""
    loss: float | str
    """Accept a rate as without loss if PERCENT is lost at most [default: 0.1%]."""
    attach: Literal["native", "generic", "dpdk-swx"]
    """Run programs in MODE [default: native]."""
    precision: float | str
    """Measure until each time is precise within PERCENT [default: 1%]."""
    seconds: float | str
    """Limit the time of each experiment [default: 2.5s]."""
    cpu: int
    """Measure on CPU NUMBER [default: the last one that this process may use]."""
    output: File
    """Write programs and measurements to DIR [default: calibration-TESTBED]."""
    rerun: File
    """Resume the stopped run in DIR, or repeat a complete one."""
    evaluate: File
    """Derive the models of the run in DIR again, without measuring."""
    compare: File | Sequence[File]
    """Show runs of several test beds side by side; repeat the option for each run."""
    html: File
    """Write an HTML page with figures, models and residuals."""


class ReproduceOptions(TypedDict, total=False):
    """Options of `slowpath reproduce`."""

    list: bool
    """List figures with their data, licences and places."""
    only: str | Sequence[str]
    """Compute only the items whose name matches GLOB."""
    repetitions: int
    """Repeat the cross-validation N times [default: 1]."""
    deadline: float | str
    """Compute for at most TIME [default: no limit]."""
    jobs: int
    """Compute N items in parallel [default: number of CPUs]."""
    within: float
    """Count the deviations up to PERCENT [default: 1]."""
    html: File
    """Write an HTML page with charts of published and own values."""


class ConfigShowOptions(TypedDict, total=False):
    """Options of `slowpath config show`."""

    target: File | Sequence[File]
    """Analyse for a built-in device, or one that a file describes [default: linux-xdp]."""
    mtu: int
    """Limit packets to BYTES [default: the longest that --receive allows]."""
    entries: str | Sequence[str]
    """Assume N entries in each map for times with cold caches [default: full maps]."""
    deadline: float | str
    """Analyse each program for at most TIME [default: 60s]."""
    require: str
    """Exit with 1 unless this is guaranteed."""
    jobs: int
    """Run N analyses in parallel; they share the free memory [default: 1]."""


class ExplainOptions(TypedDict, total=False):
    """Options of `slowpath explain`."""

    list: bool
    """Print one line for each code; with CODE, for each named one."""
