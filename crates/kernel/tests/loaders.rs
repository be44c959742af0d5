//! Tests bounds with variables that loaders set. Random C programs branch on variables in
//! `.rodata`, `.data` and `.bss`, and use them as limits of loops. The analysis gets random values
//! of these variables. In the kernel, with these values, some packet must reach the bound and no
//! packet may exceed it. The bound for unknown values must be at least as large.

use crate::support;

use std::fmt::Write;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use slowpath::{Options, configured};
use slowpath_bpf::Object;
use slowpath_kernel::{Context, Kernel};
use slowpath_oracle::Oracle;
use support::bounds::{analyse_with, result_holds};
use support::clang::{Clang, PRELUDE, clang};
use support::kernel;
use support::pin::on_every_cpu;
use support::tally::{Class, Tally, setting};

/// Number of programs. The environment variable `SLOWPATH_LOADER_PROGRAMS` overrides it.
const PROGRAMS: u64 = 40;
/// Number of random assignments of values to the variables of each program.
const CONFIGURATIONS: usize = 3;
/// Number of packets for each assignment of values.
const PACKETS: usize = 12;

const START: &str = r#"
SEC("xdp") int program(struct xdp_md *ctx)
{
	u8 *p = (u8 *)(long)ctx->data, *end = (u8 *)(long)ctx->data_end;
	if (p + 32 > end)
		return 1;
	u64 x = 1;
"#;

/// A variable, array element or struct field that a loader may set to a number, identified by its
/// name in C and in options.
struct LoaderVariable {
    name: String,
    kind: &'static str,
}

/// Returns the C source of a program, and the variables that a loader may set.
fn program(rng: &mut StdRng) -> (String, Vec<LoaderVariable>) {
    let (mut text, mut places) = (PRELUDE.to_owned(), Vec::new());
    for number in 0..rng.random_range(2..5) {
        let kind = ["u8", "u16", "u32", "u32", "u64", "s32"][rng.random_range(0..6)];
        let volatile = ["const volatile", "const volatile", "volatile", ""][rng.random_range(0..4)];
        let value = rng.random_range(0..4) * rng.random_range(0..8);
        let (name, initial) = (format!("v{number}"), format!(" = {value}"));
        let initial = if value == 0 { "" } else { &initial };
        let shape = rng.random_range(0..4);
        let _ = match shape {
            0 => writeln!(text, "{volatile} {kind} {name}[2];"),
            1 => writeln!(text, "{volatile} struct {{ u32 before; {kind} low; }} {name};"),
            _ => writeln!(text, "{volatile} {kind} {name}{initial};"),
        };
        match shape {
            0 => {
                places.extend((0..2).map(|n| LoaderVariable { name: format!("{name}[{n}]"), kind }))
            }
            1 => places.push(LoaderVariable { name: format!("{name}.low"), kind }),
            _ => places.push(LoaderVariable { name, kind }),
        }
    }
    text += START;
    for _ in 0..rng.random_range(2..6) {
        let mut any = || &places[rng.random_range(0..places.len())].name;
        let (one, other) = (any(), any());
        let (some, more) = (rng.random_range(1..9), rng.random_range(0..5));
        let (at, value) = (rng.random_range(0..16), rng.random_range(0..9));
        let question = match rng.random_range(0..6) {
            0 => format!("{one} == {value}"),
            1 => format!("{one} > {value}"),
            2 => format!("{one} & {}", 1 << (value / 2)),
            3 => format!("p[{at}] < {one}"),
            4 => format!("p[{at}] == (u8){one}"),
            _ => format!("(u64){one} < (u64){other}"),
        };
        let _ = match rng.random_range(0..4) {
            0 => writeln!(
                text,
                "\tfor (u32 i = 0; i < 12; i++) {{ if (i >= {one}) break; WORK({more}); }}"
            ),
            1 => writeln!(
                text,
                "\tif ({question}) for (u32 i = 0; i < (p[{at}] & 7); i++) {{ if (i == {one}) break; \
                 WORK({some}); }}"
            ),
            _ => writeln!(text, "\tif ({question}) WORK({some}); else WORK({more});"),
        };
    }
    (text + "\treturn (x & 1) + 1;\n}\n", places)
}

/// Returns a setting for each variable, as the command line takes it: a random value, or with
/// probability `open` the word `any`.
fn values(rng: &mut StdRng, places: &[LoaderVariable], open: f64) -> Vec<String> {
    let mut value = |place: &LoaderVariable| {
        let max: u64 = match place.kind {
            "u8" => 0xff,
            "u16" => 0xffff,
            "u64" => u64::MAX,
            "s32" => 0x7fff_ffff,
            _ => 0xffff_ffff,
        };
        match rng.random_range(0..4) {
            _ if rng.random_bool(open) => "any".to_owned(),
            0 => rng.random_range(0..=max).to_string(),
            1 if place.kind == "s32" => format!("-{}", rng.random_range(1..9)),
            _ => rng.random_range(0..10).to_string(),
        }
    };
    places.iter().map(|place| format!("{}={}", place.name, value(place))).collect()
}

fn count(result: &Value) -> Result<u64, (Class, String)> {
    let bound = result["guarantee"]["counts"]["instructions"].as_u64();
    bound.ok_or_else(|| (Class::NoBound, result["error"].to_string()))
}

/// Returns the largest number of instructions that random packets execute.
fn max_count(
    kernel: &Kernel,
    object: &Object,
    rng: &mut StdRng,
    tally: &mut Tally,
) -> Result<u64, (Class, String)> {
    let counted = kernel.load_counted(object, 0).map_err(|e| (Class::Verifier, e.to_string()))?;
    let mut max = 0;
    for _ in 0..PACKETS {
        let mut packet = vec![0; rng.random_range(32..64)];
        let small = rng.random::<bool>();
        packet.fill_with(|| if small { rng.random_range(0..10) } else { rng.random() });
        let run = counted.run(&packet, &Context::default());
        let (_, count) = run.map_err(|e| (Class::Meaning, e.to_string()))?;
        max = max.max(count);
        tally.packets += 1;
    }
    Ok(max)
}

/// Formats the content of read-only sections as the option `--maps` expects it.
fn sections(object: &Object) -> String {
    let mut text = String::new();
    for map in object.maps.iter().filter(|map| map.read_only) {
        let bytes = map.initial.as_deref().unwrap_or_default();
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(text, "[[\"{}\"]]\nkey = 0\nvalue = \"{digits}\"", map.name);
    }
    text
}

fn check(
    (kernel, clang): (&Kernel, &Clang),
    (text, places): (&str, &[LoaderVariable]),
    rng: &mut StdRng,
    tally: &mut Tally,
) -> Result<(), (Class, String)> {
    let data = clang.compile(text).map_err(|fault| (Class::Compiler, fault))?;
    let object = Object::parse(&data).map_err(|e| (Class::Refused, e.to_string()))?;
    let object = Arc::new(object);
    tally.programs += 1;
    let stated =
        |set: &[String]| analyse_with(&data, Options { set: set.to_vec(), ..Options::default() });
    let with = |set: &[String], maps: Option<&str>| {
        configured(&object, set, maps).map_err(|e| (Class::Refused, format!("{set:?}: {e}")))
    };
    // The variables as in the object: writable ones may have any value.
    let plain = stated(&[]);
    let packets = max_count(kernel, &object, rng, tally)?;
    result_holds(kernel, &object, &plain, packets, tally)?;
    let open = values(rng, places, 1.0);
    let any = stated(&open);
    result_holds(kernel, &with(&open, None)?, &any, packets, tally)?;
    let any = count(&any)?;
    for _ in 0..CONFIGURATIONS {
        let set = values(rng, places, 0.0);
        let in_setting = |(class, fault)| (class, format!("{set:?}: {fault}"));
        let configured = with(&set, None)?;
        let result = stated(&set);
        let packets = max_count(kernel, &configured, rng, tally).map_err(in_setting)?;
        result_holds(kernel, &configured, &result, packets, tally).map_err(in_setting)?;
        let known = count(&result).map_err(in_setting)?;
        // Some variables stated, others with any value.
        let part: Vec<String> = set
            .iter()
            .zip(&open)
            .map(|(one, any)| if rng.random() { one } else { any }.clone())
            .collect();
        let result = stated(&part);
        result_holds(kernel, &with(&part, None)?, &result, packets, tally).map_err(in_setting)?;
        let partly_known = count(&result).map_err(in_setting)?;
        if known > partly_known || partly_known > any {
            return Err(in_setting((
                Class::Bound,
                format!("{known}, {part:?} {partly_known}, any {any}"),
            )));
        }
        // The same content of read-only sections, given by `--maps`; other sections are as in the
        // object.
        let maps = sections(&configured);
        let read_only = with(&[], Some(&maps))?;
        let given = analyse_with(&data, Options { maps: Some(maps), ..Options::default() });
        result_holds(kernel, &read_only, &given, 0, tally).map_err(in_setting)?;
        let given = count(&given).map_err(in_setting)?;
        if known > given {
            return Err(in_setting((Class::Bound, format!("{known}, --maps {given}"))));
        }
    }
    Ok(())
}

#[test]
fn the_kernel_reaches_the_bound_of_random_configurations() {
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let first = setting("SLOWPATH_FIRST_SEED", 0);
    let seeds = first..first + setting("SLOWPATH_LOADER_PROGRAMS", PROGRAMS);
    let worker = |number: usize, of: usize| {
        let mut tally = Tally::default();
        for seed in seeds.clone().skip(number).step_by(of) {
            let mut rng = StdRng::seed_from_u64(seed);
            let (text, places) = program(&mut rng);
            let done = check((&kernel, &clang), (&text, &places), &mut rng, &mut tally);
            if let Err((class, fault)) = done {
                tally.fault(class, format!("program {seed}: {fault}\n{}", &text[PRELUDE.len()..]));
            }
        }
        tally
    };
    let mut tally = Tally::default();
    for part in on_every_cpu(worker) {
        tally.add(part);
    }
    tally.report("programs with variables");
    assert!(tally.open.is_empty(), "a witness did not do what it says: {:?}", tally.open);
    let reached = tally.exact + tally.conditional;
    assert_eq!(reached, tally.bounds, "bounds that no packet is known to reach");
    Oracle::Clang.compared(tally.programs, "programs with variables");
    tally.assert_no_faults("programs with variables");
}
