//! Tests bounds for several CPUs. The CPUs run one program on one map at the same time. No run may
//! execute more instructions than the bound for any number of CPUs. Guarantees must name the maps
//! that other CPUs must not change.

use crate::support;

use slowpath_bpf::Object;
use slowpath_kernel::{Context, Kernel};
use slowpath_oracle::Oracle;
use support::bounds::analyse;
use support::clang::{Clang, clang};
use support::kernel;
use support::pin::on_every_cpu;

/// C source of a token bucket without locks. If its compare-and-swap fails, the program tries
/// again, up to `TRIES` times. A map counts the runs by their number of tries.
const TEXT: &str = r#"
typedef unsigned int u32;
typedef unsigned long long u64;
#define SEC(name) __attribute__((section(name), used))
#define MAP(name, entries) struct { int (*type)[2]; int (*max_entries)[entries]; u32 *key; u64 *value; } name SEC(".maps")
static void *(*lookup)(void *, const void *) = (void *)1;
MAP(bucket, 1);
MAP(tries, 34);
SEC("xdp") int cas(void *ctx)
{
	u32 k = 0, n = 0;
	u64 *v = lookup(&bucket, &k);
	if (!v)
		return 1;
#pragma clang loop unroll(disable)
	for (int i = 0; i < TRIES; i++) {
		u64 o = *(volatile u64 *)v, w = o;
#pragma clang loop unroll(full)
		for (int j = 0; j < 8; j++) {
			w = w * 6364136223846793005ULL + 1442695040888963407ULL;
			asm volatile("" : "+r"(w));
		}
		n++;
		if (__sync_val_compare_and_swap(v, o, w) == o)
			break;
	}
	u64 *t = lookup(&tries, &n);
	if (t)
		__sync_fetch_and_add(t, 1);
	return 2;
}
char _license[] SEC("license") = "GPL";
"#;
/// Number of runs on each CPU.
const RUNS: u32 = 400_000;

/// Maximum number of instructions of a run, both when one CPU runs the program and when other CPUs
/// run it at the same time.
struct Bounds {
    alone: u64,
    among_others: u64,
}

fn bounds(clang: &Clang, tries: u32) -> (Vec<u8>, Bounds) {
    let text = format!("#define TRIES {tries}\n{TEXT}");
    let data = clang.compile(&text).unwrap_or_else(|fault| panic!("{fault}"));
    let result = analyse(data.clone());
    let count = |bound: &str| result[bound]["counts"]["instructions"].as_u64();
    assert_eq!(result["guarantee"]["verdict"], "conditional", "{result}");
    let (Some(alone), Some(among_others)) = (count("guarantee"), count("interleaved")) else {
        panic!("no bound: {result}")
    };
    (data, Bounds { alone, among_others })
}

/// Makes many runs on several CPUs. Returns the largest number of tries that a run needed.
fn max_tries(kernel: &Kernel, object: &Object) -> u64 {
    let loaded = kernel.load(object, 0).unwrap_or_else(|e| panic!("{e}"));
    on_every_cpu(|_, _| loaded.run(&[0; 64], RUNS).map(drop).unwrap_or_else(|e| panic!("{e}")));
    let tries = loaded.map("tries").unwrap_or_else(|| panic!("no map"));
    let counted = |n: &u32| {
        let runs = tries.lookup(&n.to_ne_bytes()).unwrap_or_else(|e| panic!("{e}"));
        runs.is_some_and(|runs| runs.iter().any(|&byte| byte != 0))
    };
    (0..34).filter(counted).max().unwrap_or_default().into()
}

#[test]
fn runs_on_several_cpus_stay_within_the_bound() {
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let (data, bound_12) = bounds(&clang, 12);
    let (_, bound_11) = bounds(&clang, 11);
    let object = Object::parse(&data).unwrap_or_else(|e| panic!("{e}"));
    // A run without concurrency tries once, and executes as many instructions as the bound.
    let counted = kernel.load_counted(&object, 0).unwrap_or_else(|e| panic!("{e}"));
    let run = counted.run(&[0; 64], &Context::default());
    let (_, alone) = run.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(alone, bound_12.alone);
    assert_eq!(bound_11.alone, bound_12.alone);
    // Each further try takes the same number of instructions.
    let retry = bound_12.among_others - bound_11.among_others;
    assert!(retry > 20, "{retry} instructions a try");
    let max = max_tries(&kernel, &object);
    assert!((1..=12).contains(&max), "{max} tries");
    let count = alone + (max - 1) * retry;
    assert!(count <= bound_12.among_others, "{count} of {} instructions", bound_12.among_others);
    assert!(alone + 10 * retry < bound_12.among_others, "the bound has too few tries");
    Oracle::Kernel.compared(1, "programs on several CPUs");
}

/// C source at the start of the test programs. It declares maps and a global variable, and begins
/// the function.
const HEAD: &str = r#"typedef unsigned int u32; typedef unsigned long long u64;
#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name
static void *(*lookup)(void *, const void *) = (void *)1;
static long (*update)(void *, const void *, const void *, u64) = (void *)2;
static long (*lock)(void *) = (void *)93;
static long (*push)(void *, const void *, u64) = (void *)87;
static long (*pop)(void *, void *) = (void *)88;
static long (*peek)(void *, void *) = (void *)89;
static long (*unlock)(void *) = (void *)94;
static long (*walk)(void *, void *, void *, u64) = (void *)164;
struct bpf_spin_lock { u32 val; };
struct value { u64 a, b; struct bpf_spin_lock lock; };
#define MAP(name, kind, of) struct { __uint(type, kind); __uint(max_entries, 8); \
    __type(key, u32); __type(value, of); } name SEC(".maps")
MAP(array, 2, u64); MAP(hash, 1, u64); MAP(percpu, 6, u64); MAP(locked, 2, struct value);
#define ENDS(name, kind) struct { __uint(type, kind); __uint(max_entries, 8); \
    __type(value, u64); } name SEC(".maps")
ENDS(queue, 22); ENDS(stack, 23);
u64 global;
static long count(void *map, void *key, void *value, u64 *n) { ++*n; return 0; }
#define READ(place) (*(volatile u64 *)(place))
#define WORK(x) do { for (int j = 0; j < 20; j++) { x = x * 3 + 1; \
    asm volatile("" : "+r"(x)); } } while (0)
char _license[] SEC("license") = "GPL";
SEC("xdp") int program(void *ctx) { u32 k = 0; u64 w = 1;"#;

/// Programs whose bound is larger if other CPUs run them at the same time. Each pair contains the
/// name of a map that other CPUs change, and the C statements that follow [`HEAD`].
const SLOWER: &[(&str, &str)] = &[
    (
        "array",
        r#"u64 *v = lookup(&array, &k); if (!v) return 1;if (READ(v) == 7 && READ(v) == 8) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (
        "hash",
        r#"u64 *v = lookup(&hash, &k); if (!v) return 1;if (READ(v) == 7 && READ(v) == 8) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (".bss", r#"if (READ(&global) == 7 && READ(&global) == 8) WORK(w); return w & 1 ? 2 : 1; }"#),
    (
        "array, of an atomic",
        r#"u64 *v = lookup(&array, &k); if (!v) return 1;for (int i = 0; i < 8; i++) { u64 o = READ(v); w = o; WORK(w);
    if (__sync_val_compare_and_swap(v, o, w) == o) break; } return 2; }"#,
    ),
    (
        "array, of its own store",
        r#"u64 *v = lookup(&array, &k); if (!v) return 1;*(volatile u64 *)v = 5; if (READ(v) == 6) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (
        "array, of an addition",
        r#"u64 *v = lookup(&array, &k); if (!v) return 1;u64 o = READ(v); if (o > 1000) return 1;if (__sync_fetch_and_add(v, 1) > 1000) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (
        "hash, of an element",
        r#"if (lookup(&hash, &k)) return 1;if (lookup(&hash, &k)) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (
        "locked, before the lock",
        r#"struct value *v = lookup(&locked, &k); if (!v) return 1;u64 a = READ(&v->a); lock(&v->lock); u64 b = READ(&v->a); unlock(&v->lock);if (a == 7 && b == 8) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
];

/// Further programs whose bound is larger if other CPUs run them at the same time, because other
/// CPUs change the results of helpers.
const SLOWER_CALLS: &[(&str, &str)] = &[
    (
        "queue, of what is there",
        r#"u64 a = 0, b = 0; if (peek(&queue, &a)) return 1; if (peek(&queue, &b)) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (
        "queue, of the oldest",
        r#"u64 a = 0, b = 0; if (peek(&queue, &a) || peek(&queue, &b)) return 1;if (a == 7 && b == 8) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (
        "stack, of its own",
        r#"u64 a = 7, b = 0; if (push(&stack, &a, 0) || pop(&stack, &b)) return 1;if (b == 8) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (
        "queue, of its room",
        r#"u64 a = 7; if (pop(&queue, &a)) return 1;if (push(&queue, &a, 0)) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (
        "array, of a key",
        r#"u64 *v = lookup(&array, &k); if (!v || READ(v) > 5) return 1;if (!lookup(&array, v)) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
];

/// Programs whose bound is the same with and without other CPUs. Each pair contains a description,
/// and the C statements that follow [`HEAD`].
const SAME: &[(&str, &str)] = &[
    (
        "one access",
        r#"u64 *v = lookup(&array, &k); if (!v) return 1;if (READ(v) == 7) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (
        "two fields",
        r#"struct value *v = lookup(&locked, &k); if (!v) return 1;if (READ(&v->a) == 7 && READ(&v->b) == 8) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (
        "per-CPU",
        r#"u64 *v = lookup(&percpu, &k); if (!v) return 1;if (READ(v) == 7 && READ(v) == 8) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (
        "locked",
        r#"struct value *v = lookup(&locked, &k); if (!v) return 1; lock(&v->lock);u64 a = READ(&v->a), b = READ(&v->a); unlock(&v->lock);if (a == 7 && b == 8) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
    (
        "a counter",
        r#"u64 *v = lookup(&array, &k); if (!v) return 1;*v += 1; *v += READ(v); return 2; }"#,
    ),
    (
        "a failed addition",
        r#"u64 *v = lookup(&array, &k); if (!v) return 1;if (__sync_fetch_and_add(v, 1) > 1000) WORK(w); return w & 1 ? 2 : 1; }"#,
    ),
];

fn bound(clang: &Clang, text: &str) -> serde_json::Value {
    let data = clang.compile(&format!("{HEAD}{text}")).unwrap_or_else(|fault| panic!("{fault}"));
    analyse(data)
}

#[test]
fn guarantees_name_the_maps_that_other_cpus_must_not_change() {
    let Some(clang) = clang() else { return };
    let count = |bound: &serde_json::Value| bound["counts"]["instructions"].as_u64();
    for (name, text) in SLOWER.iter().chain(SLOWER_CALLS) {
        let result = bound(&clang, text);
        let map = name.split(',').next().unwrap_or_default();
        let condition = format!("no other CPU changes {map} meanwhile");
        assert_eq!(result["assumptions"], serde_json::json!([condition]), "{name}");
        assert_eq!(result["guarantee"]["verdict"], "conditional", "{name}");
        assert_eq!(result["interleaved"]["verdict"], "exact", "{name}");
        let (alone, any) = (count(&result["guarantee"]), count(&result["interleaved"]));
        assert!(any > alone.map(|alone| alone + 30), "{name}: {alone:?}, {any:?}");
    }
    for (name, text) in SAME {
        let result = bound(&clang, text);
        assert_eq!(result["assumptions"], serde_json::json!([]), "{name}");
        assert_eq!(result["guarantee"]["verdict"], "exact", "{name}");
        assert!(result.get("interleaved").is_none(), "{name}");
    }
    let programs = SLOWER.len() + SLOWER_CALLS.len() + SAME.len();
    Oracle::Clang.compared(programs, "programs beside other CPUs");
}

/// Checks the bound of an iteration over a hash map for any number of CPUs: it must depend on an
/// assumption. While other CPUs insert elements, the iteration has no limit.
#[test]
fn walks_among_other_cpus_have_a_number_under_a_condition() {
    let Some(clang) = clang() else { return };
    let result = bound(
        &clang,
        r#"u64 a = 0, b = 0; walk(&hash, count, &a, 0); if (a) return 1;walk(&hash, count, &b, 0); if (b) WORK(w); return w & 1 ? 2 : 1; }"#,
    );
    let conditions = [
        "no other CPU changes hash meanwhile",
        "bpf_for_each_map_elem calls back at most 8 times for hash, whatever other CPUs insert meanwhile",
    ];
    assert_eq!(result["assumptions"], serde_json::json!(conditions), "{result}");
    let count = |bound: &str| result[bound]["counts"]["instructions"].as_u64();
    assert!(count("interleaved") > count("guarantee"), "{result}");
}

/// Checks the bound of a helper that reads its key from a map value. The pointer to the key is into
/// one of two maps, and other CPUs may change the key after the program has read it.
#[test]
fn keys_in_one_of_two_maps_may_change_meanwhile() {
    let Some(clang) = clang() else { return };
    let result = bound(
        &clang,
        r#"u32 *c = ctx; u64 *p = c[3] & 1 ? lookup(&array, &k) : lookup(&locked, &k); if (!p) return 1;if (READ(p) > 5) return 1; if (!lookup(&array, p)) WORK(w); return w & 1 ? 2 : 1; }"#,
    );
    let condition = result["assumptions"][0].as_str().unwrap_or_default();
    assert!(
        condition.contains("no other CPU changes maps behind ambiguous pointers meanwhile"),
        "{condition}"
    );
    let count = |bound: &str| result[bound]["counts"]["instructions"].as_u64();
    assert!(count("interleaved") > count("guarantee").map(|alone| alone + 30), "{result}");
}
