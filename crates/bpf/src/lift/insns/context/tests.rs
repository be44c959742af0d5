//! Tests that accesses to the context follow the rules of the program's type.

use crate::context::SCHED_CLS;
use crate::insn::{AluOp, Call, Insn, Register, Size, Source, Width, helper};
use crate::lift::{LiftOptions, lift};
use crate::{Object, ProgramKind};

fn r(number: u8) -> Register {
    Register::new(number).expect("a register")
}

/// Lifts a program that consists of the instructions `body` and returns 0. Returns the error
/// message, or `None` if lifting succeeds.
fn fault(kind: ProgramKind, body: &[Insn]) -> Option<String> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/alaw2ulaw.bpf.o");
    let object = Object::parse(&std::fs::read(path).expect("the example")).expect("an object");
    let mut program = object.link(0, None).expect("it links");
    program.kind = kind;
    program.subprograms.truncate(1);
    program.lines.clear();
    let zero = Insn::Alu { width: Width::W64, op: AluOp::Mov, dst: r(0), src: Source::Imm(0) };
    program.insns = [body, &[zero, Insn::Exit]].concat();
    lift(&object, &program, &LiftOptions::any_device()).err().map(|fault| fault.to_string())
}

fn field(name: &str) -> i16 {
    SCHED_CLS.field(name).expect("a field").offset as i16
}

fn load(size: Size, name: &str, further: i16) -> Option<String> {
    let offset = field(name) + further;
    let load = Insn::Load { size, signed: false, dst: r(2), base: r(1), offset };
    fault(ProgramKind::SchedCls, &[load])
}

fn store(size: Size, name: &str, further: i16) -> Option<String> {
    let offset = field(name) + further;
    let store = Insn::Store { size, base: r(1), offset, src: Source::Imm(1) };
    fault(ProgramKind::SchedCls, &[store])
}

#[test]
fn fields_have_the_widths_of_the_verifier() {
    for (size, name, further) in [
        (Size::W, "len", 0),
        (Size::B, "mark", 3),
        (Size::H, "protocol", 2),
        (Size::W, "data", 0),
        (Size::DW, "tstamp", 0),
        (Size::DW, "cb[2]", 0),
        (Size::B, "cb[4]", 3),
        (Size::DW, "hwtstamp", 0),
    ] {
        assert_eq!(load(size, name, further), None, "{name}");
    }
    for (size, name, further) in [
        (Size::DW, "mark", 0),
        (Size::H, "data", 0),
        (Size::H, "mark", 1),
        (Size::W, "tstamp", 0),
        (Size::DW, "cb[4]", 0),
        (Size::DW, "pkt_type", -4),
        (Size::W, "family", 4),
        (Size::W, "flow_keys", 0),
        (Size::B, "tstamp_type", 1),
    ] {
        let fault = load(size, name, further).expect(name);
        assert!(fault.contains("of struct __sk_buff"), "{fault}");
    }
}

#[test]
fn only_some_fields_can_be_written() {
    for name in ["mark", "priority", "tc_index", "tc_classid", "queue_mapping", "cb[0]"] {
        assert_eq!(store(Size::W, name, 0), None, "{name}");
    }
    assert_eq!(store(Size::DW, "tstamp", 0), None);
    assert_eq!(store(Size::B, "cb[0]", 1), None);
    for name in ["len", "protocol", "ifindex", "hash", "data", "napi_id", "vlan_tci", "wire_len"] {
        let fault = store(Size::W, name, 0).expect(name);
        assert!(fault.contains(&format!("to {name} of struct __sk_buff")), "{fault}");
    }
    assert!(store(Size::H, "mark", 0).is_some());
    assert!(store(Size::W, "tstamp", 0).is_some());
}

#[test]
fn fields_without_a_model_are_refused_by_name() {
    for (size, name) in [(Size::DW, "sk"), (Size::B, "tstamp_type")] {
        let fault = load(size, name, 0).expect(name);
        assert!(fault.contains(&format!("the field {name} of struct __sk_buff")), "{fault}");
    }
}

#[test]
fn helpers_belong_to_types_of_programs() {
    let call = |number| [Insn::Call(Call::Helper(number))];
    let of_xdp = fault(ProgramKind::SchedCls, &call(helper::XDP_ADJUST_HEAD));
    let of_xdp = of_xdp.expect("a fault");
    assert!(of_xdp.contains("bpf_xdp_adjust_head is not supported"), "{of_xdp}");
    assert!(of_xdp.contains("programs of type sched_cls may not call it"), "{of_xdp}");
    let maps = fault(ProgramKind::SchedCls, &call(helper::REDIRECT_MAP));
    assert!(maps.is_some_and(|fault| fault.contains("bpf_redirect_map is not supported")));
    let hash = helper::number("bpf_get_hash_recalc");
    assert_eq!(fault(ProgramKind::SchedCls, &call(hash)), None);
    let of_skb = fault(ProgramKind::Xdp, &call(hash));
    assert!(of_skb.is_some_and(|fault| fault.contains("bpf_get_hash_recalc is not supported")));
    let unknown = fault(ProgramKind::SchedCls, &call(helper::number("bpf_skb_under_cgroup")));
    assert!(unknown.is_some_and(|fault| fault.contains("bpf_skb_under_cgroup is not supported")));
}

/// Lifts a program that executes one instruction with the context in `r6`. Returns the error
/// message, or `None` if lifting succeeds.
fn with_context(kind: ProgramKind, insn: Insn) -> Option<String> {
    let r6 = Insn::Alu { width: Width::W64, op: AluOp::Mov, dst: r(6), src: Source::Reg(r(1)) };
    fault(kind, &[r6, insn])
}

#[test]
fn fields_belong_to_types_of_programs() {
    let load = |name| Insn::Load {
        size: Size::W,
        signed: false,
        dst: r(2),
        base: r(1),
        offset: field(name),
    };
    let store =
        |name| Insn::Store { size: Size::W, base: r(1), offset: field(name), src: Source::Imm(1) };
    let (cgroup, socket) = (ProgramKind::CgroupSkb, ProgramKind::SocketFilter);
    for (kind, insn, accepted) in [
        (cgroup, load("family"), true),
        (cgroup, load("data"), true),
        (cgroup, load("tc_classid"), false),
        (cgroup, store("mark"), true),
        (cgroup, store("tc_index"), false),
        (socket, load("mark"), true),
        (socket, load("data"), false),
        (socket, load("family"), false),
        (socket, store("mark"), false),
        (socket, store("cb[1]"), true),
    ] {
        assert_eq!(fault(kind, &[insn]).is_none(), accepted, "{kind} {insn:?}");
    }
}

#[test]
fn only_some_types_have_packet_loads() {
    let load = Insn::LoadPacket { size: Size::H, index: None, offset: 12 };
    for (kind, accepted) in [
        (ProgramKind::Xdp, false),
        (ProgramKind::CgroupSkb, false),
        (ProgramKind::SchedCls, true),
        (ProgramKind::SchedAct, true),
        (ProgramKind::SocketFilter, true),
    ] {
        assert_eq!(with_context(kind, load).is_none(), accepted, "{kind}");
    }
    let zero = Insn::Alu { width: Width::W64, op: AluOp::Mov, dst: r(6), src: Source::Imm(0) };
    let fault = fault(ProgramKind::SchedCls, &[zero, load]).expect("a fault");
    assert!(fault.contains("r6 is not the context"), "{fault}");
}

#[test]
fn programs_of_cgroups_do_not_store_to_packets() {
    let packet =
        Insn::Load { size: Size::W, signed: false, dst: r(2), base: r(1), offset: field("data") };
    let store = Insn::Store { size: Size::B, base: r(2), offset: 0, src: Source::Imm(1) };
    assert_eq!(fault(ProgramKind::SchedAct, &[packet, store]), None);
    let fault = fault(ProgramKind::CgroupSkb, &[packet, store]).expect("a fault");
    assert!(fault.contains("a store to the packet in a program of type cgroup_skb"), "{fault}");
}
