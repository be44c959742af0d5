//! Tests bounds with random programs that run at the same time. A program reads shared memory
//! several times, partly by atomic instructions, and branches on the values. Meanwhile another CPU
//! runs the same program or a writer on the same maps. No run may execute more instructions than
//! the bound for any number of CPUs.

use crate::support;

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_kernel::{Context, CountingProgram, Kernel, LoadedProgram};
use slowpath_oracle::Oracle;
use support::bounds::analyse;
use support::clang::{Clang, PRELUDE, clang};
use support::kernel;
use support::pin::pin;
use support::tally::setting;

/// Number of programs. The environment variable `SLOWPATH_CPU_PROGRAMS` overrides it.
const PROGRAMS: u64 = 8;
/// Number of counted runs of each program, both while it runs alone and while another CPU runs the
/// same program or a writer.
const RUNS: usize = 100;
/// Minimum number of calls on the other CPU during the counted runs.
const BATCHES: u32 = 10;
/// Number of runs in one call on the other CPU.
const BATCH: u32 = 300;

const HEAD: &str = r#"
static void *(*lookup)(void *, const void *) = (void *)1;
static long (*update)(void *, const void *, const void *, u64) = (void *)2;
static long (*delete)(void *, const void *) = (void *)3;
static u64 (*now)(void) = (void *)5;
static u32 (*draw)(void) = (void *)7;
struct value { u64 a, b; u32 c, d; };
#define MAP(name, kind) struct { int (*type)[kind]; int (*max_entries)[4]; u32 *key; struct value *value; } name SEC(".maps")
MAP(array, 2);
MAP(hash, 1);
volatile u64 global;
volatile u32 word;
#define READ(place) (*(volatile typeof(place) *)&(place))
#define PAUSE do { now(); now(); now(); now(); now(); now(); } while (0)
"#;

/// A program that writes to the memory that the other programs read.
const WRITER: &str = r#"
SEC("xdp") int writer(void *ctx)
{
	u32 k = 0, r = draw();
	struct value *v = lookup(&array, &k), new = { r & 3, r >> 2 & 3, r >> 4 & 3, r >> 6 & 3 };
	if (v) {
		READ(v->a) = r & 3;
		READ(v->b) = r >> 2 & 3;
		READ(v->c) = r >> 4 & 3;
		READ(v->d) = r >> 6 & 3;
	}
	global = r >> 8 & 3;
	word = r >> 10 & 3;
	if (r >> 12 & 1)
		update(&hash, &k, &new, 0);
	else
		delete(&hash, &k);
	return 1;
}
"#;

/// Returns the C source of a program whose amount of work depends on the values that it reads.
fn program(rng: &mut StdRng) -> String {
    const PLACES: [(&str, &str); 6] = [
        ("v->a", "u64"),
        ("v->b", "u64"),
        ("v->c", "u32"),
        ("v->d", "u32"),
        ("global", "u64"),
        ("word", "u32"),
    ];
    let mut text = format!(
        "{PRELUDE}{HEAD}SEC(\"xdp\") int program(void *ctx)\n{{\n\tu32 k = 0;\n\tu64 x = 1, r[4] = {{ 0 }};\n\t\
         struct value *v = lookup(&array, &k), *e;\n\tif (!v)\n\t\treturn 1;\n"
    );
    // Few places, so that most are accessed repeatedly.
    let places: Vec<_> = (0..2).map(|_| PLACES[rng.random_range(0..PLACES.len())]).collect();
    for step in 0..rng.random_range(3..8) {
        let (place, kind) = places[rng.random_range(0..places.len())];
        let (to, from) = (rng.random_range(0..4), rng.random_range(0..4));
        let (low, high) = (rng.random_range(0..4), rng.random_range(0..4));
        let (some, more) = (rng.random_range(1..12), rng.random_range(0..4));
        let part = ["u8", "u16", "u32"][rng.random_range(0..3)];
        let access = match rng.random_range(0..11) {
            0..4 => format!("r[{to}] = READ({place}) & 3;"),
            4 => format!("r[{to}] = *(volatile {part} *)&{place} & 3;"),
            5 => format!("READ({place}) = {low};"),
            6 => format!("r[{to}] = __sync_fetch_and_add(&{place}, {low}) & 3;"),
            7 => format!("r[{to}] = __sync_lock_test_and_set(&{place}, ({kind}){high}) & 3;"),
            8 => format!(
                "r[{to}] = __sync_val_compare_and_swap(&{place}, ({kind})r[{from}], ({kind}){high});"
            ),
            9 => format!("r[{to}] = __sync_fetch_and_xor(&{place}, {low}) & 3;"),
            _ => format!("e = lookup(&hash, &k); r[{to}] = e ? READ(e->a) & 3 : 7;"),
        };
        // The pause lets other CPUs write between two accesses.
        let _ = writeln!(text, "\tPAUSE; {access}");
        if step == 0 {
            continue;
        }
        let question = match rng.random_range(0..5) {
            0 => format!("r[{to}] == {low}"),
            1 => format!("r[{to}] != r[{from}]"),
            2 => format!("r[{to}] == {low} && r[{from}] == {high}"),
            3 => format!("r[{to}] < r[{from}]"),
            _ => format!("(r[{to}] ^ r[{from}]) & 1"),
        };
        let _ = match rng.random_range(0..6) {
            0 => writeln!(
                text,
                "\t_Pragma(\"clang loop unroll(disable)\") for (int i = 0; i < {}; i++) {{ {kind} o = \
                 READ({place}), n = (o * 3 + 1) & 3; PAUSE; WORK({more}); if \
                 (__sync_val_compare_and_swap(&{place}, o, n) == o) break; }}",
                2 + some / 2
            ),
            _ => writeln!(text, "\tif ({question}) WORK({some}); else WORK({more});"),
        };
    }
    text + "\treturn (x & 1) + 1;\n}\n" + WRITER
}

/// Maximum number of instructions of a run, both without and with other CPUs that run programs on
/// the same maps.
struct Bounds {
    alone: u64,
    among_others: u64,
    conditional: bool,
}

fn bounds(result: &Value) -> Option<Bounds> {
    let count = |bound: &str| result[bound]["counts"]["instructions"].as_u64();
    let alone = count("guarantee")?;
    let condition =
        |sentence: &Value| sentence.as_str().is_some_and(|s| s.starts_with("no other CPU"));
    let conditional = result["assumptions"].as_array()?.iter().any(condition);
    let among_others = if conditional { count("interleaved")? } else { alone };
    Some(Bounds { alone, among_others, conditional })
}

/// Returns the largest number of instructions that a run executes while another CPU runs another
/// program again and again.
fn max_instructions(counted: &CountingProgram, other: Option<&LoadedProgram>) -> u64 {
    let (batches, done) = (AtomicU32::new(0), AtomicBool::new(false));
    // Threads inherit the CPU affinity of their parent, so the parent stays unpinned.
    std::thread::scope(|scope| {
        if let Some(other) = other {
            let (batches, done) = (&batches, &done);
            scope.spawn(move || {
                pin(1);
                while !done.load(Ordering::Relaxed) {
                    let run = other.run(&[0; 64], BATCH);
                    batches.fetch_add(1, Ordering::Relaxed);
                    run.unwrap_or_else(|e| panic!("{e}"));
                }
            });
        }
        let counting = scope.spawn(|| {
            pin(0);
            let (mut max, mut runs) = (Ok(0), 0);
            // The other thread may start late or be delayed.
            let enough = || other.is_none() || batches.load(Ordering::Relaxed) >= BATCHES;
            while let Ok(so_far) = max
                && (runs < RUNS || !enough())
            {
                let run = counted.run(&[0; 64], &Context::default());
                max = run.map(|(_, count)| count.max(so_far));
                runs += 1;
            }
            done.store(true, Ordering::Relaxed);
            max.unwrap_or_else(|e| panic!("{e}"))
        });
        counting.join().expect("no panic")
    })
}

#[derive(Default)]
struct Totals {
    /// Number of programs whose bound depends on an assumption about other CPUs.
    conditional: usize,
    /// Number of programs with an exact bound for any number of CPUs.
    exact: usize,
    /// Number of programs with a run that exceeded the bound for one CPU.
    beyond: usize,
    /// Number of programs with a run that reached the bound for any number of CPUs.
    reached: usize,
}

fn check(kernel: &Kernel, clang: &Clang, text: &str, totals: &mut Totals) -> Result<(), String> {
    let data = clang.compile(text)?;
    let object = Object::parse(&data).map_err(|e| e.to_string())?;
    let result = analyse(data);
    let bounds = bounds(&result)
        .ok_or_else(|| format!("no bound: {}, {}", result["error"], result["assumptions"]))?;
    let Bounds { alone, among_others, conditional } = bounds;
    let counted = kernel.load_counted(&object, 0).map_err(|e| e.to_string())?;
    let beside = |program| {
        let loaded = kernel.load_sharing_maps(&object, program, counted.loaded());
        loaded.map_err(|e| e.to_string())
    };
    let (same, writer) = (beside(0)?, beside(1)?);
    let max = max_instructions(&counted, None);
    if max > alone {
        return Err(format!("{max} instructions alone, bound {alone}"));
    }
    let max =
        max_instructions(&counted, Some(&same)).max(max_instructions(&counted, Some(&writer)));
    totals.conditional += usize::from(conditional);
    totals.exact += usize::from(result["interleaved"]["exact"] == true);
    totals.beyond += usize::from(max > alone);
    totals.reached += usize::from(max == among_others);
    if max > among_others {
        return Err(format!(
            "{max} instructions beside another CPU, bounds {alone} and {among_others}, {}",
            result["assumptions"]
        ));
    }
    Ok(())
}

#[test]
fn no_interleaving_exceeds_the_bound_for_any_number_of_cpus() {
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let first = setting("SLOWPATH_FIRST_SEED", 0);
    let programs = setting("SLOWPATH_CPU_PROGRAMS", PROGRAMS);
    let (mut totals, mut faults) = (Totals::default(), Vec::new());
    for seed in first..first + programs {
        let text = program(&mut StdRng::seed_from_u64(seed));
        if let Err(fault) = check(&kernel, &clang, &text, &mut totals) {
            let own = &text[PRELUDE.len() + HEAD.len()..text.len() - WRITER.len()];
            faults.push(format!("program {seed}: {fault}\n{own}"));
        }
    }
    let Totals { conditional, exact, beyond, reached } = totals;
    eprintln!(
        "{programs} programs: {conditional} conditional, {exact} exact for any number of CPUs; \
         {beyond} took more than alone, {reached} as much as their bound"
    );
    let shown = faults.iter().take(3).cloned().collect::<Vec<_>>().join("\n");
    assert!(faults.is_empty(), "{} faults: {shown}", faults.len());
    assert!(exact > 0, "no program is exactly so much slower beside other CPUs");
    // A machine with one CPU cannot show this.
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(cpus < 2 || (beyond > 0 && reached > 0), "{beyond} beyond, {reached} reached");
    Oracle::Kernel.compared(programs as usize, "random programs beside another CPU");
}
