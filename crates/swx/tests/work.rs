//! Tests of the cost classes, and of the work that each class stands for.

use slowpath_swx::{LiftOptions, Lifted, lift, parse};

const PIPELINE: &str = "
struct tag_t {
	bit<16> number
	bit<16> kind
	bit<16> length
}
struct metadata_t {
	bit<32> port
}
header a instanceof tag_t
header b instanceof tag_t
header c instanceof tag_t
metadata instanceof metadata_t
action nothing args none {
	return
}
table plain {
	key {
		h.a.number exact
		h.a.kind exact
	}
	actions {
		nothing
	}
	default_action nothing args none const
	size 500
}
table gap {
	key {
		h.a.number exact
		h.a.length exact
	}
	actions {
		nothing
	}
	default_action nothing args none const
	size 0x20
}
apply {
	rx m.port
	extract h.a
	extract h.b
	jmpeq LAST h.a.number 7
	table plain
	table gap
	LAST : extract h.c
	emit h.a
	emit h.b
	OTHER : emit h.c
	tx m.port
}
";

fn lifted(text: &str) -> Lifted {
    let spec = parse(text).expect("a pipeline");
    let options = LiftOptions { file: "a.spec".into(), min_packet: 60, max_packet: 1518 };
    lift(&spec, "a", &options).expect("a translation")
}

fn prices(lifted: &Lifted) -> Vec<&str> {
    lifted.layout.work.iter().map(|work| work.price.as_str()).collect()
}

#[test]
fn instructions_in_a_row_run_together_unless_a_jump_leads_between_them() {
    let lifted = lifted(PIPELINE);
    let known = prices(&lifted);
    for price in ["extract", "extract.next", "emit", "emit.next", "tx.next"] {
        assert!(known.contains(&price), "{price}: {known:?}");
    }
    // `LAST : extract` follows the tables, so two extractions are the first of their rows.
    let events = |price: &str| {
        let class = known.iter().position(|known| *known == price).expect("a class");
        let blocks = lifted.program.blocks.iter().flat_map(|block| {
            block.costs.iter().chain(block.terminator.edges().flat_map(|edge| &edge.costs))
        });
        let mut insns: Vec<u32> = blocks
            .filter(|event| event.class.index() == class)
            .map(|event| lifted.lines[event.insn.index()])
            .collect();
        insns.sort_unstable();
        insns.dedup();
        insns
    };
    let line = |text: &str| 1 + PIPELINE.lines().position(|l| l.trim() == text).unwrap() as u32;
    assert_eq!(events("extract"), [line("extract h.a"), line("LAST : extract h.c")]);
    assert_eq!(events("emit.next"), [line("emit h.b"), line("OTHER : emit h.c")]);
    let jumped = PIPELINE.replace("jmpeq LAST", "jmpeq OTHER");
    let known = self::lifted(&jumped);
    let known = prices(&known);
    assert!(!known.contains(&"emit.next"), "only one emission then runs with the sending");
    assert!(known.contains(&"tx.next"));
}

#[test]
fn at_most_eight_extractions_run_together() {
    let headers: String = (0..10).map(|n| format!("header h{n} instanceof tag_t\n")).collect();
    let extracts: String = (0..10).map(|n| format!("\textract h.h{n}\n")).collect();
    let text = format!(
        "struct tag_t {{\n\tbit<16> number\n}}\nstruct metadata_t {{\n\tbit<32> port\n}}\n{headers}\
         metadata instanceof metadata_t\napply {{\n\trx m.port\n{extracts}\ttx m.port\n}}\n"
    );
    let lifted = lifted(&text);
    let costs = lifted.program.blocks.iter().flat_map(|block| &block.costs);
    let names = costs.map(|event| lifted.layout.work[event.class.index()].price.as_str());
    let names: Vec<&str> = names.filter(|name| name.starts_with("extract")).collect();
    let next = ["extract.next"; 7];
    assert_eq!(names, [&["extract"][..], &next, &["extract", "extract.next"]].concat());
}

#[test]
fn at_most_eight_emissions_run_together_with_the_sending() {
    let headers: String = (0..10).map(|n| format!("header h{n} instanceof tag_t\n")).collect();
    let emits: String = (0..10).map(|n| format!("\temit h.h{n}\n")).collect();
    let text = |last: &str| {
        format!(
            "struct tag_t {{\n\tbit<16> number\n}}\nstruct metadata_t {{\n\tbit<32> port\n}}\n\
             {headers}metadata instanceof metadata_t\napply {{\n\trx m.port\n{emits}\t{last}\n}}\n"
        )
    };
    let names = |text: &str| {
        let lifted = lifted(text);
        let costs = lifted.program.blocks.iter().flat_map(|block| {
            block.costs.iter().chain(block.terminator.edges().take(1).flat_map(|edge| &edge.costs))
        });
        let names = costs.map(|event| lifted.layout.work[event.class.index()].price.clone());
        names.skip(1).collect::<Vec<String>>()
    };
    // The search for such a row begins at each emission, and takes at most eight.
    let next = ["emit.next"; 7];
    assert_eq!(names(&text("tx m.port")), [&["emit"; 3][..], &next, &["tx.next"]].concat());
    assert_eq!(names(&text("tx 3")), [&["emit"; 10][..], &["tx"]].concat());
}

#[test]
fn lookups_have_a_class_for_hits_and_one_for_misses() {
    let lifted = lifted(PIPELINE);
    let classes: Vec<(&str, &str, Option<usize>)> = lifted
        .program
        .cost_classes
        .iter()
        .zip(&lifted.layout.work)
        .filter(|(class, _)| class.starts_with("swx.table."))
        .map(|(class, work)| (class.as_str(), work.price.as_str(), work.lookup))
        .collect();
    for expected in [
        ("swx.table.exact.hit.plain", "table.exact.hit", Some(0)),
        ("swx.table.exact.miss.plain", "table.exact.miss", Some(0)),
        // DPDK looks up a key with a gap in a wildcard table.
        ("swx.table.wildcard.hit.gap", "table.wildcard.hit", Some(1)),
        ("swx.table.wildcard.miss.gap", "table.wildcard.miss", Some(1)),
    ] {
        assert!(classes.contains(&expected), "{expected:?}: {classes:?}");
    }
    let sizes = lifted.layout.lookups.iter().map(|lookup| (lookup.key_bytes, lookup.size));
    assert_eq!(sizes.collect::<Vec<_>>(), [(4, 500), (6, 32)]);
}
