//! Tests bounds for loops. Random C programs count up and down to constants and to bytes of the
//! packet, with all types and comparisons. Loops are nested, exit early, and keep counters on the
//! stack or in callbacks. No packet may execute more instructions than the bound. If a bound is
//! exact, some packet must reach it.

use crate::support;

use std::fmt::Write;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath::Options;
use slowpath_bpf::Object;
use slowpath_kernel::{Context, Kernel, LoadError};
use slowpath_oracle::Oracle;
use support::bounds::{analyse_with, result_holds};
use support::clang::{Clang, PRELUDE, clang};
use support::kernel;
use support::pin::on_every_cpu;
use support::tally::{Class, Tally, setting};

/// Number of programs. The environment variable `SLOWPATH_LOOP_PROGRAMS` overrides it.
const PROGRAMS: u64 = 12;
/// Number of packets for each program.
const PACKETS: usize = 24;
/// Time limit in seconds for the analysis of a program. After this time, the best bound that was
/// found is checked.
const DEADLINE: f64 = 2.0;

const HEAD: &str = r#"
#define LOOP _Pragma("clang loop unroll(disable)")
struct state { u64 x; u32 limit; };
static long (*bpf_loop)(u32, void *, void *, u64) = (void *)181;
"#;

const START: &str = r#"
SEC("xdp") int program(struct xdp_md *ctx)
{
	u8 *p = (u8 *)(long)ctx->data, *end = (u8 *)(long)ctx->data_end;
	if (p + 32 > end)
		return 1;
	u64 x = 1, buffer[4] = { 0 };
"#;

/// Maximum number of iterations of a loop at each depth of nesting.
const ROUNDS: [u32; 3] = [20, 5, 3];

/// Generator of the C source of one random program.
struct Writer<'a> {
    rng: &'a mut StdRng,
    /// C source of the callbacks and other functions.
    functions: String,
    names: u32,
}

impl Writer<'_> {
    fn below(&mut self, max: u32) -> u32 {
        self.rng.random_range(0..max)
    }

    fn any<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.rng.random_range(0..of.len())]
    }

    fn name(&mut self) -> u32 {
        self.names += 1;
        self.names
    }

    fn work(&mut self) -> String {
        format!("WORK({});", self.below(5))
    }

    /// Returns an expression for a number of iterations, which is constant or read from the packet.
    fn rounds(&mut self, max: u32, packet: bool) -> String {
        let at = self.below(16);
        let mask = [1, 3, 7, 15].into_iter().rfind(|&mask| mask <= max).unwrap_or(1);
        match self.below(if packet { 8 } else { 1 }) {
            0 => self.rng.random_range(1..=max).to_string(),
            1 => format!("(p[{at}] & {mask})"),
            2 => format!("(p[{at}] & {}) + {}", mask / 2, 1 + self.below(max / 2 + 1)),
            3 => format!("p[{at}] % {}", max + 1),
            4 => format!("(*(u16 *)(p + {}) >> 4 & {mask})", 2 * (at / 2)),
            5 => format!("((u32)(end - p) & {mask})"),
            6 => format!("(p[{at}] > {max} ? {max} : p[{at}])"),
            _ => format!("((p[{at}] & {mask}) ^ {})", self.below(mask + 1)),
        }
    }

    /// Returns a condition that compares bytes of the packet with a counter.
    fn condition(&mut self, counter: &str, packet: bool) -> String {
        let (at, value) = (self.below(16), self.below(8));
        match self.below(if packet { 5 } else { 1 }) {
            0 => format!("{counter} == {value}"),
            1 => format!("p[{at}] == {value}"),
            2 => format!("p[{at}] > {}", 16 * value + 100),
            3 => format!("p[({counter}) & 15] & {}", 1 << value),
            _ => format!("p[{at}] < (u8)({counter})"),
        }
    }

    /// Returns the statements of one iteration of a loop.
    fn body(&mut self, counter: &str, depth: usize, packet: bool) -> String {
        let mut text = self.work();
        for _ in 0..self.below(3) {
            let condition = self.condition(counter, packet);
            let work = self.work();
            let _ = match self.below(7) {
                0 => write!(text, " if ({condition}) break;"),
                1 => write!(text, " if ({condition}) {{ {work} continue; }}"),
                2 if packet => write!(text, " if ({condition}) return x & 1;"),
                3 => write!(text, " buffer[({counter}) & 3] = x;"),
                4 => {
                    let other = self.work();
                    write!(text, " if ({condition}) {{ {work} }} else {{ {other} }}")
                }
                5 if depth + 1 < ROUNDS.len() => {
                    let inner = self.a_loop(depth + 1, packet);
                    write!(text, " {inner}")
                }
                _ => write!(text, " if ({condition}) {{ {work} }}"),
            };
        }
        text
    }

    /// Returns the C source of a loop that ends.
    fn a_loop(&mut self, depth: usize, packet: bool) -> String {
        let max = ROUNDS[depth];
        let number = self.name();
        let (i, n) = (format!("i{number}"), format!("n{number}"));
        let rounds = self.rounds(max, packet);
        let known = rounds.parse::<u32>().is_ok();
        // The verifier loses the range of a counter that is truncated to less than a register.
        let kinds = ["u32", "u64", "s32", "s64", "u32", "u64", "u8", "u16"];
        let kind = self.any(if known { &kinds } else { &kinds[..6] });
        let wide = !matches!(kind, "u8" | "u16");
        let signed = kind.starts_with('s');
        // A barrier hides the counter's value from the compiler, but not from the kernel.
        let hidden = wide && self.rng.random_bool(0.4);
        let barrier =
            if hidden { format!("asm volatile(\"\" : \"+r\"({i}));") } else { String::new() };
        let spilled = if wide && !hidden && self.rng.random_bool(0.2) { "volatile " } else { "" };
        let step = match self.below(3) {
            0 => 1,
            1 => [2, 4, 8][self.rng.random_range(0..3)],
            _ => 1 + self.below(7),
        };
        let start = match self.below(4) {
            0 => 1,
            1 => self.below(20),
            2 if known && kind == "u32" => 0xffff_fff0,
            _ => 0,
        };
        let start =
            if signed && self.rng.random() { format!("-{start}") } else { start.to_string() };
        let first = format!("({kind})({start})");
        let last = format!("({kind})({first} + {n} * {step})");
        let exact = if known || step == 1 { "!=" } else { "<" };
        let body = self.body(&i, depth, packet);
        let (initial, head) = match self.below(10) {
            0 | 1 => (first, format!("for (; {i} < {last}; {i} += {step})")),
            2 => (first, format!("for (; {i} <= {last}; {i} += {step})")),
            3 | 4 => (first, format!("for (; {i} {exact} {last}; {i} += {step})")),
            5 => (last, format!("for (; {i} > {first}; {i} -= {step})")),
            6 if known => (last, format!("for (; {i} != {first}; {i} -= {step})")),
            7 => (format!("{n} << 2"), format!("for (; {i}; {i} >>= 1)")),
            8 if packet => (
                "0".to_owned(),
                format!("for (; {i} < {n}; {i} += 1 + (p[{}] & 3))", self.below(16)),
            ),
            _ => (n.clone(), format!("while ({i}-- > 0)")),
        };
        let head = format!("{spilled}{kind} {i} = {initial}; LOOP {head}");
        format!("{{ u32 {n} = {rounds}; {head} {{ {barrier} {body} }} }}")
    }

    /// Returns a call of a function that contains a loop, or of a helper that calls a function
    /// back.
    fn called(&mut self) -> String {
        let number = self.name();
        if self.rng.random() {
            let body = self.a_loop(1, false);
            let max = ROUNDS[0];
            let _ = writeln!(
                self.functions,
                "static __attribute__((noinline)) u64 f{number}(u32 rounds, u64 x)\n{{\n\t\
                 u64 buffer[4] = {{ 0 }};\n\tLOOP for (u32 i = 0; i < rounds && i < {max}; i++) \
                 {{ {body} }}\n\treturn x + buffer[1];\n}}"
            );
            let rounds = self.rounds(ROUNDS[0], true);
            return format!("x = f{number}({rounds}, x);");
        }
        let (work, more) = (self.work(), self.work());
        let at = self.below(8);
        let _ = writeln!(
            self.functions,
            "static long f{number}(u64 index, struct state *s)\n{{\n\tu64 x = s->x;\n\t{work}\n\t\
             if (index == {at}) {{ {more} }}\n\ts->x = x;\n\treturn index >= s->limit;\n}}"
        );
        let (rounds, limit) = (self.rounds(ROUNDS[0], true), self.rounds(ROUNDS[0], true));
        format!(
            "{{ struct state s = {{ x, {limit} }}; bpf_loop({rounds}, f{number}, &s, 0); x = s.x; }}"
        )
    }
}

/// Returns the C source of a program with a few loops.
fn program(rng: &mut StdRng) -> String {
    let mut writer = Writer { rng, functions: String::new(), names: 0 };
    let mut body = String::new();
    for _ in 0..1 + writer.below(3) {
        let statement = match writer.below(6) {
            0 => writer.called(),
            1 => format!("if ({}) {{ {} }}", writer.condition("1", true), writer.a_loop(0, true)),
            _ => writer.a_loop(0, true),
        };
        let _ = writeln!(body, "\t{statement}");
    }
    format!(
        "{PRELUDE}{HEAD}{}{START}{body}\treturn ((x + buffer[2]) & 1) + 1;\n}}\n",
        writer.functions
    )
}

fn packet(rng: &mut StdRng) -> Vec<u8> {
    let mut packet = vec![0; rng.random_range(32..100)];
    let kind = rng.random_range(0..4);
    for byte in &mut packet {
        *byte = match if kind == 3 { rng.random_range(0..3) } else { kind } {
            0 => rng.random(),
            1 => 0xff,
            _ => rng.random_range(0..8),
        };
    }
    packet
}

fn check(
    (kernel, clang): (&Kernel, &Clang),
    text: &str,
    rng: &mut StdRng,
    tally: &mut Tally,
) -> Result<(), (Class, String)> {
    let data = clang.compile(text).map_err(|fault| (Class::Compiler, fault))?;
    let object = Object::parse(&data).map_err(|e| (Class::Refused, e.to_string()))?;
    tally.programs += 1;
    let counted = match kernel.load_counted(&object, 0) {
        Ok(counted) => counted,
        Err(LoadError::Rejected { reason, .. }) => return Err((Class::Verifier, reason)),
        Err(other) => return Err((Class::Refused, other.to_string())),
    };
    let mut max = 0;
    for _ in 0..PACKETS {
        let run = counted.run(&packet(rng), &Context::default());
        let (_, count) = run.map_err(|e| (Class::Meaning, e.to_string()))?;
        max = max.max(count);
        tally.packets += 1;
    }
    let options = Options { deadline_seconds: Some(DEADLINE), ..Options::default() };
    result_holds(kernel, &Arc::new(object), &analyse_with(&data, options), max, tally)
}

#[test]
fn no_packet_exceeds_the_bound_of_random_loops() {
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let first = setting("SLOWPATH_FIRST_SEED", 0);
    let seeds = first..first + setting("SLOWPATH_LOOP_PROGRAMS", PROGRAMS);
    let mut tally = Tally::default();
    let worker = |number: usize, of: usize| {
        let mut tally = Tally::default();
        for seed in seeds.clone().skip(number).step_by(of) {
            let mut rng = StdRng::seed_from_u64(seed);
            let text = program(&mut rng);
            if let Err((class, fault)) = check((&kernel, &clang), &text, &mut rng, &mut tally) {
                let shown =
                    if class == Class::Verifier { "" } else { &text[PRELUDE.len() + HEAD.len()..] };
                tally.fault(class, format!("program {seed}: {fault}\n{shown}"));
            }
        }
        tally
    };
    for part in on_every_cpu(worker) {
        tally.add(part);
    }
    // The verifier rejects some programs, because it follows a loop for too long or forever.
    let rejected = tally.faults.remove(&Class::Verifier).unwrap_or_default();
    tally.report("programs with loops");
    eprintln!("{} of them rejected by the verifier", rejected.len());
    assert!(2 * rejected.len() <= tally.programs, "{} rejected: {}", rejected.len(), rejected[0]);
    assert!(tally.open.is_empty(), "a witness did not do what it says: {:?}", tally.open);
    assert!(2 * tally.exact > tally.bounds, "{} of {} bounds exact", tally.exact, tally.bounds);
    Oracle::Clang.compared(tally.programs, "programs with loops");
    tally.assert_no_faults("programs with loops");
}

/// Loops whose number of iterations is difficult to find. They compare the counter with its limit
/// by `!=`, or by `<=` so that the counter may wrap around. Each pair contains the C statements and
/// the number of iterations.
const ENDS: [(&str, u64); 3] = [
    ("u64 n = (p[3] & 15) ^ 7; LOOP for (u64 i = 0; i <= n; i++) { WORK(0); }", 16),
    (
        "u32 n = p[7] > 20 ? 20 : p[7]; s64 first = -1, last = first + n; \
         LOOP for (s64 i = first; i != last; i++) { WORK(0); }",
        20,
    ),
    ("u32 n = (p[3] & 15) ^ 5; LOOP for (u32 i = 0; i != n; i++) { WORK(0); }", 15),
];

#[test]
fn counters_that_equal_their_end_have_a_limit() {
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let mut rng = StdRng::seed_from_u64(0);
    let mut tally = Tally::default();
    for (statement, rounds) in ENDS {
        let text = format!("{PRELUDE}{HEAD}{START}{statement} return (x & 1) + 1; }}");
        let checked = check((&kernel, &clang), &text, &mut rng, &mut tally);
        assert_eq!(checked.map_err(|(_, fault)| fault), Ok(()), "{statement}");
        let shown = analyse_with(
            &clang.compile(&text).unwrap_or_else(|fault| panic!("{fault}")),
            Options { unroll: vec![(rounds + 1).to_string()], ..Options::default() },
        );
        // A limit of one more iteration cuts off no path.
        assert_eq!(shown["guarantee"]["verdict"], "exact", "{statement}: {shown}");
    }
    assert_eq!(tally.exact, ENDS.len(), "{:?}", tally.faults);
}

/// Checks that a loop whose end slowpath cannot find has a bound: the verifier's limit of a million
/// instructions for a run.
#[test]
fn a_loop_that_only_the_verifier_follows_to_its_end_has_a_bound() {
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    // A generator whose period of 16,384 iterations exceeds the limit of unrolling.
    let statement = "u32 s = 1; LOOP do { s = (s * 5 + 3) & 0x3fff; \
                     asm volatile(\"\" : \"+r\"(s)); } while (s != 1);";
    let text = format!("{PRELUDE}{HEAD}{START}{statement} return (x & 1) + 1; }}");
    let mut tally = Tally::default();
    let mut rng = StdRng::seed_from_u64(0);
    let checked = check((&kernel, &clang), &text, &mut rng, &mut tally);
    assert_eq!(checked.map_err(|(_, fault)| fault), Ok(()));
    let data = clang.compile(&text).unwrap_or_else(|fault| panic!("{fault}"));
    let shown = analyse_with(&data, Options::default());
    let guarantee = &shown["guarantee"];
    assert_eq!(guarantee["verdict"], "bound", "{shown}");
    assert_eq!(guarantee["counts"]["instructions"], 1_000_000, "{shown}");
    let condition =
        "the kernel's verifier accepts the program, which limits a run to 1000000 instructions";
    assert_eq!(shown["assumptions"], serde_json::json!([condition]), "{shown}");
    let stopped = guarantee["stopped"].as_str().unwrap_or_default();
    assert!(stopped.contains("no known limit except the verifier's"), "{stopped}");
}

/// Checks that the verifier's instruction limit is not applied to loops around a BPF iterator. The
/// verifier does not follow each of the up to 2^23 iterations.
#[test]
fn a_loop_around_an_iterator_has_no_limit_of_the_verifier() {
    let Some(clang) = clang() else { return };
    let text = format!(
        r#"{PRELUDE}struct bpf_iter_num {{ u64 opaque; }};
#define KFUNC(result, name, ...) extern result name(__VA_ARGS__) __attribute__((section(".ksyms")))
KFUNC(int, bpf_iter_num_new, struct bpf_iter_num *it, int start, int end);
KFUNC(int *, bpf_iter_num_next, struct bpf_iter_num *it);
KFUNC(void, bpf_iter_num_destroy, struct bpf_iter_num *it);
SEC("xdp") int program(struct xdp_md *ctx)
{{
	struct bpf_iter_num it;
	u64 x = 1;
	bpf_iter_num_new(&it, 0, 5000000);
	while (bpf_iter_num_next(&it)) WORK(1);
	bpf_iter_num_destroy(&it);
	return (x & 1) + 1;
}}"#
    );
    let data = clang.compile(&text).unwrap_or_else(|fault| panic!("{fault}"));
    let assume = ["new", "next", "destroy"]
        .map(|name| format!("[helper.bpf_iter_num_{name}]\nreason = \"it counts\"\n"))
        .concat();
    let options = Options { assume: Some(assume), ..Options::default() };
    let result = analyse_with(&data, options);
    let error = result["error"].as_str().unwrap_or_default();
    assert!(error.contains("has no bound that the analysis can derive"), "{result}");
}

/// Checks that the verifier's instruction limit is not applied to iterations over maps. The
/// verifier does not follow each call of a callback, and the loader may choose the map's size.
#[test]
fn a_walk_has_no_limit_of_the_verifier() {
    let Some(clang) = clang() else { return };
    let text = format!(
        r#"{PRELUDE}struct {{ int (*type)[2]; u32 *key; u64 *value; }} sized SEC(".maps");
static long (*walk)(void *, void *, void *, u64) = (void *)164;
static long count(void *map, u32 *key, u64 *value, u64 *sum) {{ *sum += *value; return 0; }}
SEC("xdp") int program(struct xdp_md *ctx)
{{
	u64 sum = 0;
	walk(&sized, count, &sum, 0);
	return (sum & 1) + 1;
}}"#
    );
    let data = clang.compile(&text).unwrap_or_else(|fault| panic!("{fault}"));
    let result = analyse_with(&data, Options::default());
    let max = result["guarantee"]["counts"]["instructions"].as_u64();
    let message = result["assumptions"].to_string();
    assert!(!message.contains("verifier"), "{result}");
    assert!(max.is_none_or(|max| max > u64::from(u32::MAX)), "{result}");
}

/// Checks that the error for a rejected program contains the verifier's reason, even if the
/// verifier's log is long.
#[test]
fn programs_that_the_verifier_follows_for_long_are_refused_for_its_reason() {
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let rounds = |rounds: u32, then: &str| {
        format!(
            "{PRELUDE}{HEAD}{START}LOOP for (u32 i = 0; i < {rounds}; i++) {{ WORK(1); }} {then} \
             return (x & 1) + 1; }}"
        )
    };
    let cases = [
        (rounds(900_000, ""), "program is too large", "make loops shorter"),
        (rounds(90_000, "x += p[99];"), "invalid access to packet", "data_end"),
    ];
    for (text, reason, hint) in cases {
        let data = clang.compile(&text).unwrap_or_else(|fault| panic!("{fault}"));
        let object = Object::parse(&data).unwrap_or_else(|e| panic!("{e}"));
        let Err(error) = kernel.load(&object, 0) else { panic!("it is loaded: {text}") };
        let message = error.to_string();
        assert!(matches!(error, LoadError::Rejected { .. }), "{message}");
        assert!(message.contains(reason) && message.contains(hint), "{message}");
    }
}
