use super::*;
use crate::parse;

const HEAD: &str = "
struct ipv6_t {
	bit<16> next
	bit<128> source
}
struct option_t {
	bit<8> kind
	varbit<64> data
}
struct metadata_t {
	bit<32> port
	bit<16> flow
	bit<32> length
}
struct data_t {
	bit<16> d
	bit<24> e
}
header i instanceof ipv6_t
header o instanceof option_t
header own instanceof ipv6_t
metadata instanceof metadata_t
action set args instanceof data_t {
	mov m.flow t.d
	return
}
action leave args none {
	drop
}
";

/// Environment in which every lookup is a hit with the same action, given by its name and data.
struct Hits(&'static str, Vec<u8>);

impl World for Hits {
    fn lookup(&mut self, _: &Request<'_>) -> Found {
        Found { hit: true, action: self.0.to_owned(), data: self.1.clone(), entry: 1 }
    }

    fn value(&mut self, _: Source<'_>, _: usize) -> u64 {
        7
    }
}

fn table(name: &str, key: &str) -> String {
    format!(
        "table {name} {{\n\tkey {{\n{key}\t}}\n\tactions {{\n\t\tset\n\t\tleave\n\t}}\n\
         \tdefault_action leave args none\n}}\n"
    )
}

fn spec(parts: &str, apply: &[&str]) -> Spec {
    let body: String = apply.iter().map(|line| format!("\t{line}\n")).collect();
    parse(&format!("{HEAD}{parts}apply {{\n\trx m.port\n{body}}}\n")).expect("the text is right")
}

fn run<'a>(spec: &'a Spec, packet: &[u8], world: &mut Hits) -> Result<Machine<'a>, RunError> {
    crate::resolve(spec).expect("DPDK accepts the pipeline");
    let mut machine = Machine::new(spec, packet.to_vec())?;
    machine.run(world, 1000).map(|()| machine)
}

#[test]
fn lookups_have_keys_and_data() {
    let parts = table("wide", "\t\th.i.source lpm\n") + &table("narrow", "\t\tm.flow exact\n");
    let spec =
        spec(&parts, &["extract h.i", "table wide", "table narrow", "emit h.i", "tx m.port"]);
    let packet: Vec<u8> = (1..=20).collect();
    let machine = run(&spec, &packet, &mut Hits("set", vec![0x34, 0x12, 3, 2, 1])).expect("a run");
    let [wide, narrow] = machine.lookups() else { panic!("two lookups") };
    assert_eq!((wide.table.as_str(), wide.hit, wide.action.as_str()), ("wide", true, "set"));
    assert_eq!(wide.key[0].name, "h.i.source");
    assert_eq!(wide.key[0].big_endian(), &packet[2..18]);
    assert_eq!(wide.key[0].number(), None);
    let data: Vec<_> = wide.data.iter().map(|one| (one.name.as_str(), one.number())).collect();
    assert_eq!(data, [("t.d", Some(0x1234)), ("t.e", Some(0x01_0203))]);
    assert_eq!(narrow.key[0].number(), Some(0x1234));
    assert!(wide.line > 0 && narrow.line == wide.line + 1);
    assert_eq!(machine.output(), Some(&packet[..]));
    let machine = run(&spec, &packet, &mut Hits("leave", vec![])).expect("a run");
    assert_eq!((machine.output(), machine.lookups().len()), (None, 1));
}

#[test]
fn headers_are_sent_with_their_extracted_length_from_the_memory_of_the_emission() {
    let lines = [
        "mov m.length 2",
        "extract h.o m.length",
        "extract h.i",
        "emit h.o",
        "emit h.i",
        "invalidate h.i",
        "validate h.i",
        "mov h.i.next 0xffff",
        "tx m.port",
    ];
    let packet: Vec<u8> = (1..=30).collect();
    let spec = spec("", &lines);
    let machine = run(&spec, &packet, &mut Hits("set", vec![])).expect("a run");
    assert_eq!(machine.output(), Some(&packet[..]));
}

#[test]
fn wide_fields_are_numbers_in_memory_order() {
    let parts = "
struct wide_t {
	bit<16> narrow
	bit<80> wide
}
action widen args instanceof wide_t {
	return
}
";
    let spec = spec(parts, &["extract h.i", "tx m.port"]);
    let default = |wide: &str| DefaultAction {
        line: crate::spec::Line(1),
        name: "widen".to_owned(),
        arguments: vec![("narrow".into(), "0x102".into()), ("wide".into(), wide.into())],
        constant: false,
    };
    let bytes = [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 3, 4];
    let data = |wide| default_data(&spec, &default(wide)).ok();
    assert_eq!(data("0x00000000000000000304"), Some(bytes.to_vec()));
    for wrong in ["0x304", "0x0000000000000000030g", "0x+1+1+1+1+1+1+1+1+1+1", "é"] {
        assert_eq!(data(wrong), None, "{wrong}");
    }
    let field =
        FieldValue { name: "m.wide".to_owned(), bytes: bytes[2..].to_vec(), network_order: false };
    assert_eq!(field.big_endian(), bytes[2..]);
}

#[test]
fn a_negative_length_makes_a_header_shorter() {
    let lines = ["mov m.length 0xffffffff", "extract h.o m.length", "emit h.o", "tx m.port"];
    let spec = spec("", &lines);
    let machine = run(&spec, &[1, 2, 3], &mut Hits("set", vec![])).expect("a run");
    assert_eq!((machine.at, machine.output()), (0, Some(&[1, 2, 3][..])));
    let ended = run(&spec, &[], &mut Hits("set", vec![])).expect_err("the packet is short");
    assert_eq!(ended.cause, RunFault::ShortPacket { has: 0, needs: 1 });
}

#[test]
fn a_header_keeps_what_is_written_before_it_is_valid_in_a_new_pipeline() {
    let lines = ["mov h.i.next 0x1234", "validate h.i", "emit h.i", "tx m.port", "extract h.i"];
    let mut spec = spec("", &lines);
    spec.apply.push(Instruction::new(Op::Drop));
    let new = run(&spec, &[], &mut Hits("set", vec![])).expect("a run");
    assert_eq!(&new.output().expect("a packet")[..2], [0x12, 0x34]);
    let mut later = Machine::new(&spec, vec![]).expect("the structs are declared");
    later.follow_packet();
    let new = Machine::new(&spec, vec![]).expect("the structs are declared");
    let names = |fields: Vec<FieldValue>| fields.into_iter().map(|one| one.name);
    let expected = ["h.i.next of an earlier packet", "h.i.source of an earlier packet"];
    assert!(names(later.differences(&new)).eq(expected));
    assert_eq!(new.differences(&new), []);
    later.run(&mut Hits("set", vec![]), 100).expect("a run");
    assert_eq!(&later.output().expect("a packet")[..2], [0, 0]);
}

#[test]
fn a_header_is_sent_with_a_length_beyond_its_own_memory() {
    let lines = [
        "mov m.length 10",
        "extract h.o m.length",
        "invalidate h.o",
        "validate h.o",
        "mov h.o.kind 7",
        "emit h.o",
        "tx m.port",
    ];
    let spec = spec("", &lines);
    let machine = run(&spec, &[1; 12], &mut Hits("set", vec![])).expect("a run");
    assert_eq!(machine.output(), Some(&[7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1][..]));
}

#[test]
fn runs_without_an_end_and_short_packets_are_errors() {
    let endless = spec("", &["AGAIN : add m.flow 1", "jmp AGAIN", "tx m.port"]);
    let mut machine = Machine::new(&endless, vec![]).expect("structs");
    let ended = machine.run(&mut Hits("set", vec![]), 1000).expect_err("no end");
    assert_eq!(ended.cause, RunFault::TooManySteps(1000));
    let long = spec("", &["mov m.length 0xfffffffe", "extract h.o m.length", "tx m.port"]);
    let ended = run(&long, &[0; 60], &mut Hits("set", vec![])).expect_err("the packet is short");
    assert_eq!(ended.cause, RunFault::ShortPacket { has: 60, needs: (1 << 32) - 1 });
}

#[test]
fn unknown_instructions_and_actions_are_errors() {
    let foreign = spec("", &["extract h.i", "recirculate", "drop"]);
    let mut machine = Machine::new(&foreign, vec![0; 60]).expect("structs");
    let ended = machine.run(&mut Hits("set", vec![]), 1000).expect_err("not executed");
    assert_eq!(ended.cause, RunFault::Unsupported("drop after recirculate".to_owned()));
    let spec = spec(&table("one", "\t\tm.flow exact\n"), &["table one", "tx m.port"]);
    let ended = run(&spec, &[0; 60], &mut Hits("missing", vec![])).expect_err("no action");
    assert_eq!(ended.cause, RunFault::Name("missing".to_owned()));
}
