//! Tests that programs that the card cannot run are rejected, with the instruction and the reason.

use slowpath_bpf::insn::{
    AluOp, AtomicOp, Call, Condition, Imm64, Insn, Register, Size, Source, SwapKind, Width, helper,
};
use slowpath_bpf::{BpfProgram, MapDef, MapKind, Object};
use slowpath_nfp::{CompileError, CompileOptions, Compiled, MapAbi, compile};

fn r(number: u8) -> Register {
    Register::new(number).expect("a register")
}

fn alu(op: AluOp, dst: u8, src: Source) -> Insn {
    Insn::Alu { width: Width::W64, op, dst: r(dst), src }
}

fn imm(op: AluOp, dst: u8, value: i32) -> Insn {
    alu(op, dst, Source::Imm(value))
}

fn branch(cond: Condition, dst: u8, src: Source, offset: usize) -> Insn {
    Insn::Branch { width: Width::W64, cond, dst: r(dst), src, offset: offset as i16 }
}

fn load(size: Size, dst: u8, base: u8, offset: i16) -> Insn {
    Insn::Load { size, signed: false, dst: r(dst), base: r(base), offset }
}

fn store(size: Size, base: u8, offset: i16, src: u8) -> Insn {
    Insn::Store { size, base: r(base), offset, src: Source::Reg(r(src)) }
}

/// Returns an object with one array of 16 elements of 8 bytes.
fn object() -> Object {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/count_min.1.bpf.o");
    let mut object = Object::parse(&std::fs::read(path).expect("the example")).expect("an object");
    object.maps.truncate(1);
    let map = &mut object.maps[0];
    (map.kind, map.key_size, map.value_size, map.max_entries) = (MapKind::ARRAY, 4, 8, 16);
    map.flags = 0;
    object
}

/// Compiles a program that consists of a bounds check, `body` and an exit. The check ensures that
/// `r6` points to at least 34 bytes of the packet.
fn compiled(object: &Object, body: &[Insn], map_abi: MapAbi) -> Result<Compiled, CompileError> {
    let mut program: BpfProgram = object.link(0, None).expect("it links");
    program.insns = vec![
        alu(AluOp::Mov, 9, Source::Reg(r(1))),
        load(Size::W, 6, 1, 0),
        load(Size::W, 7, 1, 4),
        alu(AluOp::Mov, 8, Source::Reg(r(6))),
        imm(AluOp::Add, 8, 34),
        branch(Condition::Gt, 8, Source::Reg(r(7)), body.len()),
    ];
    program.insns.extend(body);
    program.insns.extend([imm(AluOp::Mov, 0, 2), Insn::Exit]);
    program.lines = vec![None; program.insns.len()];
    program.subprograms.truncate(1);
    compile(object, &program, &CompileOptions { map_abi, ..CompileOptions::default() })
}

/// Returns the reason why the card cannot run a program with the instructions `body`.
fn refusal(object: &Object, body: &[Insn], abi: MapAbi) -> String {
    match compiled(object, body, abi) {
        Ok(compiled) => format!("compiled:\n{}", compiled.listing),
        Err(error) => error.to_string(),
    }
}

/// Returns instructions that look up the element with key 0 of the first map. They leave its
/// address, or null, in `r0`.
fn element() -> Vec<Insn> {
    vec![
        imm(AluOp::Mov, 2, 0),
        store(Size::W, 10, -4, 2),
        alu(AluOp::Mov, 2, Source::Reg(Register::FRAME)),
        imm(AluOp::Add, 2, -4),
        Insn::LoadImm64 { dst: r(1), value: Imm64::Map(0) },
        Insn::SecondSlot,
        Insn::Call(Call::Helper(helper::MAP_LOOKUP_ELEM)),
    ]
}

/// Returns instructions that look up the element with key 0 of the first map and, if it exists,
/// execute `accesses`.
fn with_element(accesses: &[Insn]) -> Vec<Insn> {
    let mut body = element();
    body.push(branch(Condition::Eq, 0, Source::Imm(0), accesses.len()));
    body.extend(accesses);
    body
}

#[test]
fn instructions_are_refused_with_a_reason() {
    let number = load(Size::DW, 3, 6, 0);
    let half = load(Size::H, 4, 6, 8);
    let cases: Vec<(Vec<Insn>, &str)> = vec![
        (vec![number, imm(AluOp::Mod, 3, 7)], "a remainder"),
        (vec![number, imm(AluOp::Sdiv, 3, 7)], "a signed division"),
        (vec![number, imm(AluOp::Div, 3, 7)], "a dividend that may need more than 32 bits"),
        (vec![number, imm(AluOp::Mul, 3, 7)], "a factor that may need more than 32 bits"),
        (
            vec![half, load(Size::DW, 3, 6, 0), alu(AluOp::Mul, 4, Source::Reg(r(3)))],
            "a factor that may need more than 32 bits",
        ),
        (
            vec![
                half,
                imm(AluOp::Mov, 3, 40),
                Insn::Alu { width: Width::W32, op: AluOp::Lsh, dst: r(4), src: Source::Reg(r(3)) },
            ],
            "a shift by a constant number of bits that is too large",
        ),
        (vec![half, imm(AluOp::Mul, 4, -7)], "a multiplication by a negative constant"),
        (vec![half, imm(AluOp::Div, 4, -7)], "a division by a negative constant"),
        (
            vec![half, load(Size::B, 3, 6, 0), alu(AluOp::Div, 4, Source::Reg(r(3)))],
            "a division by a value that is not a constant",
        ),
        (
            vec![half, Insn::Swap { kind: SwapKind::Le, size: Size::H, dst: r(4) }],
            "a conversion to little-endian",
        ),
        (
            vec![half, Insn::Swap { kind: SwapKind::Always, size: Size::H, dst: r(4) }],
            "an unconditional byte swap",
        ),
        (
            vec![Insn::MoveSigned { width: Width::W64, from: Size::B, dst: r(3), src: r(6) }],
            "a move with sign extension",
        ),
        (
            vec![Insn::Load { size: Size::B, signed: true, dst: r(3), base: r(6), offset: 0 }],
            "a load with sign extension",
        ),
        (
            vec![Insn::Store { size: Size::B, base: r(6), offset: 0, src: Source::Imm(1) }],
            "a store of a constant",
        ),
        (vec![load(Size::W, 3, 9, 12)], "a field of struct xdp_md that the card does not have"),
        (
            vec![imm(AluOp::Mov, 3, 1), store(Size::W, 9, 0, 3)],
            "a store to a field of struct xdp_md",
        ),
        (
            vec![
                half,
                imm(AluOp::And, 4, 8),
                alu(AluOp::Mov, 3, Source::Reg(Register::FRAME)),
                alu(AluOp::Sub, 3, Source::Reg(r(4))),
                store(Size::B, 3, -8, 6),
            ],
            "a stack access at a variable offset",
        ),
        (vec![Insn::Call(Call::Helper(helper::KTIME_GET_NS))], "bpf_ktime_get_ns"),
        (with_element(&[half, store(Size::W, 0, 0, 4)]), "a write to an element of a map"),
        (
            with_element(&[
                half,
                load(Size::W, 3, 0, 0),
                Insn::Atomic {
                    op: AtomicOp::Add { fetch: false },
                    width: Width::W32,
                    base: r(0),
                    offset: 0,
                    src: r(4),
                },
            ]),
            "the word at offset 0 of a map's element is read and added to",
        ),
        (
            with_element(&[
                half,
                Insn::Atomic {
                    op: AtomicOp::Xchg,
                    width: Width::W32,
                    base: r(0),
                    offset: 0,
                    src: r(4),
                },
            ]),
            "an atomic operation that is not a plain addition",
        ),
        (
            with_element(&[
                half,
                imm(AluOp::And, 4, 4),
                alu(AluOp::Add, 0, Source::Reg(r(4))),
                load(Size::W, 3, 0, 0),
            ]),
            "at a variable offset",
        ),
    ];
    let object = object();
    for (body, expected) in cases {
        let found = refusal(&object, &body, MapAbi::ArrayPointer);
        assert!(found.contains(expected), "{expected}: {found}");
        assert!(found.starts_with("section xdp, instruction "), "{found}");
    }
}

#[test]
fn maps_that_the_firmware_does_not_support_are_refused() {
    type Change = fn(&mut MapDef);
    let cases: [(Change, &str); 6] = [
        (|map| map.kind = MapKind::HASH, "is of type hash; the firmware has one array"),
        (|map| map.max_entries = 17, "has 17 elements"),
        (|map| map.flags = 1, "has flags 0x1"),
        (|map| map.value_size = 6, "have 6 bytes"),
        (|map| (map.max_entries, map.value_size) = (1 << 28, 64), "more than 1 GiB"),
        (|map| map.kind = MapKind::PERCPU_ARRAY, "is of type percpu_array"),
    ];
    for (change, expected) in cases {
        let mut object = object();
        change(&mut object.maps[0]);
        let found = refusal(&object, &element(), MapAbi::ArrayPointer);
        assert!(found.contains(expected), "{expected}: {found}");
    }
    let mut object = object();
    let mut second = object.maps[0].clone();
    second.name = "second".into();
    object.maps.push(second);
    let mut body = element();
    body.extend(element());
    if let Some(Insn::LoadImm64 { value, .. }) = body.get_mut(11) {
        *value = Imm64::Map(1);
    }
    let found = refusal(&object, &body, MapAbi::ArrayPointer);
    assert!(found.contains("the firmware has one array"), "{found}");
}

#[test]
fn updates_are_calls_of_the_stock_firmware() {
    let mut body = element();
    let last = body.len() - 1;
    body.splice(
        last..,
        [
            alu(AluOp::Mov, 3, Source::Reg(Register::FRAME)),
            imm(AluOp::Add, 3, -16),
            imm(AluOp::Mov, 4, 0),
            store(Size::DW, 10, -16, 4),
            Insn::Call(Call::Helper(helper::MAP_UPDATE_ELEM)),
        ],
    );
    let object = object();
    let found = refusal(&object, &body, MapAbi::ArrayPointer);
    assert!(found.contains("bpf_map_update_elem"), "{found}");
    let listing = compiled(&object, &body, MapAbi::Call).expect("it compiles").listing.to_string();
    assert!(listing.contains("br[.15002], defer[2]"), "{listing}");
    assert!(listing.contains("local_csr_wr[ActLMAddr2, gprB_6]"), "{listing}");
}

#[test]
fn programs_that_do_not_fit_are_refused() {
    let object = object();
    // Each addition takes two instructions on the card.
    let body: Vec<Insn> = (0..1300).map(|n| imm(AluOp::Add, 3, n)).collect();
    let mut start = vec![load(Size::W, 3, 6, 0)];
    start.extend(body);
    let found = refusal(&object, &start, MapAbi::ArrayPointer);
    assert!(found.contains("its firmware has room for 2560"), "{found}");
}

#[test]
fn jumps_over_dead_code_are_left_out() {
    let jump = |src, offset| branch(Condition::Eq, 3, Source::Imm(src), offset);
    let object = object();
    let length = |body: &[Insn]| {
        let compiled = compiled(&object, body, MapAbi::ArrayPointer).expect("it compiles");
        compiled.listing.len()
    };
    let constant = imm(AluOp::Mov, 3, 1);
    let dead = imm(AluOp::Mov, 4, 5);
    let plain = length(&[constant]);
    assert_eq!(length(&[constant, jump(1, 1), dead]), plain, "always taken");
    assert_eq!(length(&[constant, Insn::Jump { offset: 0, long: false }]), plain, "to the next");
    // The branch is never taken, but its target is live because control also falls through to it.
    // So its two operations and the branch remain.
    assert_eq!(length(&[constant, jump(2, 1), dead]), length(&[constant, dead]) + 3);
    let unknown = load(Size::B, 3, 6, 0);
    assert!(length(&[unknown, jump(1, 1), dead]) > length(&[unknown, dead]), "either way");
}

/// Compiles a program with the instructions `body`. Returns, for each refusal, the indices of its
/// instructions and its reason. A refusal of the whole program has no indices.
fn all_refusals(object: &Object, body: &[Insn], abi: MapAbi) -> Vec<(Vec<usize>, String)> {
    match compiled(object, body, abi) {
        Err(CompileError::Refused(refusals)) => {
            refusals.iter().map(|refusal| (refusal.slots.clone(), refusal.reason.clone())).collect()
        }
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn all_reasons_are_listed_each_once() {
    let object = object();
    let swap = Insn::Swap { kind: SwapKind::Le, size: Size::H, dst: r(4) };
    let body = [
        load(Size::DW, 3, 6, 0),
        imm(AluOp::Mod, 3, 7), // slot 7
        load(Size::H, 4, 6, 8),
        swap, // 9
        imm(AluOp::Mod, 4, 5),
        load(Size::DW, 5, 6, 0),
        imm(AluOp::Div, 5, 3), // 12
        swap,
        imm(AluOp::Mod, 5, 9), // 14
    ];
    let found = all_refusals(&object, &body, MapAbi::ArrayPointer);
    let expected = [
        (vec![7, 10, 14], "a remainder: the card has no instruction for it"),
        (vec![9, 13], "a conversion to little-endian"),
        (vec![12], "a dividend that may need more than 32 bits"),
    ];
    assert_eq!(found, expected.map(|(slots, what)| (slots, what.to_owned())));
    let text = refusal(&object, &body, MapAbi::ArrayPointer);
    assert!(text.contains("instruction 7 and 2 more instructions: a remainder"), "{text}");
}

/// Checks that every access to a global array is reported as an access to a global variable, even
/// at an offset that is not constant.
#[test]
fn global_variables_are_named_at_variable_places_too() {
    let object = object();
    let body = [
        Insn::LoadImm64 { dst: r(1), value: Imm64::MapValue { map: 0, offset: 8 } }, // slot 6
        Insn::SecondSlot,
        load(Size::W, 3, 1, 0),
        load(Size::B, 2, 6, 0),
        imm(AluOp::Lsh, 2, 2),
        alu(AluOp::Add, 1, Source::Reg(r(2))),
        store(Size::W, 1, 0, 3), // 12
    ];
    let found = all_refusals(&object, &body, MapAbi::Call);
    let expected = "a global variable: the card has no global data".to_owned();
    assert_eq!(found, [(vec![6, 8, 12], expected)]);
}

/// Checks that an unsupported instruction is rejected for the same reason, whether or not the
/// program has other unsupported instructions.
#[test]
fn reasons_do_not_hide_each_other() {
    let object = object();
    let half = load(Size::H, 4, 6, 8);
    let pieces: Vec<Vec<Insn>> = vec![
        vec![load(Size::DW, 3, 6, 0), imm(AluOp::Mod, 3, 7)],
        vec![half, imm(AluOp::Mul, 4, -7)],
        vec![half, imm(AluOp::Div, 4, -7)],
        vec![half, Insn::Swap { kind: SwapKind::Always, size: Size::H, dst: r(4) }],
        vec![Insn::MoveSigned { width: Width::W64, from: Size::B, dst: r(3), src: r(6) }],
        vec![Insn::Store { size: Size::B, base: r(6), offset: 0, src: Source::Imm(1) }],
    ];
    let reasons = |body: &[Insn]| {
        let found = all_refusals(&object, body, MapAbi::ArrayPointer);
        found.into_iter().map(|(_, what)| what).collect::<Vec<_>>()
    };
    let alone: Vec<String> = pieces.iter().flat_map(|piece| reasons(piece)).collect();
    assert_eq!(alone.len(), pieces.len());
    assert_eq!(reasons(&pieces.concat()), alone);
}

#[test]
fn the_program_as_a_whole_is_refused_beside_its_instructions() {
    let mut object = object();
    object.maps.push(object.maps[0].clone());
    object.maps[1].name = "second".to_owned();
    object.maps[1].kind = MapKind::HASH;
    let mut body = element();
    let mut second = element();
    second[4] = Insn::LoadImm64 { dst: r(1), value: Imm64::Map(1) };
    body.extend(second);
    body.push(Insn::Call(Call::Helper(helper::KTIME_GET_NS)));
    let found = all_refusals(&object, &body, MapAbi::ArrayPointer);
    let texts: Vec<&str> = found.iter().map(|(_, what)| what.as_str()).collect();
    let name = &object.maps[0].name;
    assert_eq!(
        texts,
        [
            format!("maps {name} and second; the firmware has one array").as_str(),
            "map second is of type hash; the firmware has one array",
            "bpf_ktime_get_ns, which the card does not have",
        ]
    );
}

/// Checks that only an unsupported call is reported, and not the uses of its result.
#[test]
fn consequences_of_a_refused_call_are_left_out() {
    let mut object = object();
    object.maps[0].kind = MapKind::RINGBUF;
    let body = vec![
        Insn::LoadImm64 { dst: r(1), value: Imm64::Map(0) },
        Insn::SecondSlot,
        imm(AluOp::Mov, 2, 8),
        imm(AluOp::Mov, 3, 0),
        Insn::Call(Call::Helper(helper::RINGBUF_RESERVE)),
        branch(Condition::Eq, 0, Source::Imm(0), 5),
        imm(AluOp::Mov, 3, 1),
        store(Size::DW, 0, 0, 3),
        alu(AluOp::Mov, 1, Source::Reg(r(0))),
        imm(AluOp::Mov, 2, 0),
        Insn::Call(Call::Helper(helper::RINGBUF_SUBMIT)),
    ];
    let found = all_refusals(&object, &body, MapAbi::ArrayPointer);
    let texts: Vec<&str> = found.iter().map(|(_, what)| what.as_str()).collect();
    let name = &object.maps[0].name;
    assert_eq!(
        texts,
        [
            format!("map {name} is of type ringbuf; the firmware has one array").as_str(),
            "bpf_ringbuf_reserve, which the card does not have",
            "bpf_ringbuf_submit, which the card does not have",
        ]
    );
}
