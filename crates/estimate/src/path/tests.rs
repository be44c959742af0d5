use super::*;
use slowpath_bpf::insn::decode;

/// Returns the path that executes all instructions of a program once. `hex` contains the
/// instructions.
fn path(hex: &str) -> Path {
    let digits: String = hex.split_whitespace().collect();
    let bytes: Vec<u8> = (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[2 * at..][..2], 16).unwrap())
        .collect();
    let insns = decode(&bytes).unwrap();
    let code = Code { key_bytes: vec![16], insns, ..Code::default() };
    let numbers: Vec<u32> = (0..code.insns.len() as u32)
        .filter(|&at| code.insns[at as usize] != Insn::SecondSlot)
        .collect();
    Path::new(&code, numbers.into_iter().map(|at| (at, "call.map_lookup_elem.hash")))
}

#[test]
fn loads_find_what_was_stored_on_the_stack() {
    // r2 = r10; r2 += -8; *(u32 *)(r2 + 0) = 1; *(u32 *)(r10 - 4) = 2; then three loads.
    let path = path(
        "bfa2000000000000 07020000f8ffffff 6202000001000000 620afcff02000000 \
         61a3f8ff00000000 79a4f8ff00000000 79a5f0ff00000000",
    );
    let found: Vec<_> = path.steps.iter().map(|step| step.forwarded).collect();
    assert_eq!(found[4], Some(Forwarded { store: 2, pieces: false }));
    assert_eq!(found[5], Some(Forwarded { store: 3, pieces: true }));
    assert_eq!(found[6], None);
}

#[test]
fn addresses_survive_being_spilled() {
    // r3 = *(u32 *)(r1 + 0); *(u64 *)(r10 - 8) = r3; *(u64 *)(r3 + 6) = r0;
    // r4 = *(u64 *)(r10 - 8); r5 = *(u64 *)(r4 + 6)
    let path = path(
        "6113000000000000 7b3af8ff00000000 7b03060000000000 79a4f8ff00000000 7945060000000000",
    );
    assert_eq!(path.steps[4].forwarded, Some(Forwarded { store: 2, pieces: false }));
}

#[test]
fn calls_know_their_map_and_whether_it_had_something() {
    // r1 = map 0 (unresolved here: a file descriptor), call 1, if r0 == 0 goto +1, exit
    let path = path(
        "b701000000000000 8500000001000000 1500010000000000 9500000000000000 9500000000000000",
    );
    let [call] = path.calls() else { panic!("one call") };
    assert_eq!(
        (call.name.as_str(), call.bytes, call.zero),
        ("map_lookup_elem.hash", 0, Some(false))
    );
}

/// Returns the names of the calls on a path through all instructions in `hex`, which all have the
/// cost class `class`.
fn names(hex: &str, class: &str) -> Vec<String> {
    resolved(hex, class).calls().iter().map(|call| call.name.clone()).collect()
}

/// Returns a path through all instructions in `hex`, in which every 64-bit constant is the address
/// of map 0, whose keys have 4 bytes.
fn resolved(hex: &str, class: &str) -> Path {
    let bytes: Vec<u8> = hex
        .split_whitespace()
        .flat_map(|insn| (0..8).map(move |at| u8::from_str_radix(&insn[2 * at..][..2], 16)))
        .collect::<Result<_, _>>()
        .unwrap();
    let mut insns = decode(&bytes).unwrap();
    for insn in &mut insns {
        // Relocation replaces constants by maps in the same way.
        if let Insn::LoadImm64 { value, .. } = insn {
            *value = slowpath_bpf::insn::Imm64::Map(0);
        }
    }
    let numbers: Vec<u32> =
        (0..insns.len() as u32).filter(|&at| insns[at as usize] != Insn::SecondSlot).collect();
    let code = Code { key_bytes: vec![4], insns, ..Code::default() };
    Path::new(&code, numbers.into_iter().map(|at| (at, class)))
}

#[test]
fn a_call_finds_the_stores_of_its_key() {
    // *(u16 *)(r10 - 8) = 1; *(u16 *)(r10 - 6) = 1; *(u32 *)(r10 - 4) = 1;
    // r2 = r10; r2 += -8; r1 = map 0; call 1
    let call = |number: &str| {
        let path = resolved(
            &format!(
                "6a0af8ff01000000 6a0afaff01000000 620afcff01000000 \
                 bfa2000000000000 07020000f8ffffff 1801000000000000 0000000000000000 {number}"
            ),
            "call.m.hash",
        );
        path.steps[6].forwarded
    };
    // The third store is after the four bytes of the key, which are read by one load.
    assert_eq!(call("8500000001000000"), Some(Forwarded { store: 1, pieces: true }));
    assert_eq!(call("8500000003000000"), Some(Forwarded { store: 1, pieces: true }));
    // `bpf_ktime_get_ns` has no key.
    assert_eq!(call("8500000005000000"), None);
}

#[test]
fn updates_after_a_look_up_that_found_nothing_insert() {
    // r1 = map 0; look-up; if r0 != 0 (not taken); r1 = map 0; r4 = 0; update, twice.
    let update = "1801000000000000 0000000000000000 b704000000000000 8500000002000000";
    let hex = format!(
        "1801000000000000 0000000000000000 8500000001000000 5500010000000000 {update} {update}"
    );
    assert_eq!(names(&hex, "call.m.hash"), ["m.hash", "m.hash.new", "m.hash"]);
    // An update with BPF_NOEXIST always inserts.
    let only = "1801000000000000 0000000000000000 b704000001000000 8500000002000000";
    assert_eq!(names(only, "call.m.hash"), ["m.hash.new"]);
}

#[test]
fn ends_of_packets_move_outwards_or_inwards() {
    // The argument is -4 as 32 bits and as 64 bits, then 4, then unknown.
    for (delta, name) in [
        ("b4020000fcffffff", "tail.shrink"),
        ("b7020000fcffffff", "tail.shrink"),
        ("b702000004000000", "tail.grow"),
        ("bf12000000000000", "tail"),
    ] {
        assert_eq!(names(&format!("{delta} 8500000041000000"), "call.tail"), [name]);
    }
}

#[test]
fn what_is_printed_is_known_from_texts_on_the_stack() {
    // "%d%% %u\0" in two stores; r1 = r10 - 8; r2 = 8; call 6
    let hex = "620af8ff25642525 620afcff20257500 bfa1000000000000 07010000f8ffffff \
               b702000008000000 8500000006000000";
    assert_eq!(names(hex, "call.trace_printk"), ["trace_printk.2"]);
    let unknown = "bfa1000000000000 07010000f8ffffff b702000008000000 8500000006000000";
    assert_eq!(names(unknown, "call.trace_printk"), ["trace_printk"]);
}

#[test]
fn calls_say_what_they_are_of() {
    let call = |name: &str| Call { name: name.to_owned(), bytes: 0, zero: None, room: None };
    for (name, parts) in [
        ("ktime_get_ns", ("ktime_get_ns", None, None)),
        ("map_lookup_elem.hash", ("map_lookup_elem", Some("hash"), None)),
        ("map_update_elem.lru_hash.new", ("map_update_elem", Some("lru_hash"), Some("new"))),
        ("xdp_adjust_tail.grow", ("xdp_adjust_tail", None, Some("grow"))),
        ("trace_printk.2", ("trace_printk", None, Some("2"))),
    ] {
        let call = call(name);
        assert_eq!((call.helper(), call.map_type(), call.case()), parts);
    }
}

#[test]
fn addresses_at_the_ends_of_the_numbers_are_addresses() {
    // r2 = 2^63 - 1 (two slots); r3 = r10; r3 += r2; *(u64 *)(r3 + 0) = r0; r4 = *(u64 *)(r3 + 0)
    let path = |immediate: &str| {
        path(&format!(
            "{immediate} bfa3000000000000 0f23000000000000 7b03000000000000 7934000000000000"
        ))
    };
    for immediate in ["18020000ffffffff 00000000ffffff7f", "1802000000000000 0000000000000080"] {
        let path = path(immediate);
        assert_eq!(path.steps[4].forwarded, Some(Forwarded { store: 3, pieces: false }));
    }
}

#[test]
fn offsets_that_a_program_computes_lead_into_tables() {
    // r1 = value of map 0; r2 = *(u32 *)(r10 - 4); r1 += r2; r3 = *(u64 *)(r1 + 0);
    // r4 = *(u64 *)(r1 + 8); r5 = *(u64 *)(r1 + 72); then r1 = value of map 0; r3 = *(u64 *)(r1 + 0)
    let hex = "1821000000000000 0000000000000000 61a2fcff00000000 0f21000000000000 \
               7913000000000000 7914080000000000 7915480000000000 \
               1821000000000000 0000000000000000 7913000000000000";
    let digits: String = hex.split_whitespace().collect();
    let bytes: Vec<u8> = (0..digits.len() / 2)
        .map(|at| u8::from_str_radix(&digits[2 * at..][..2], 16).unwrap())
        .collect();
    let mut code = crate::code::with_maps(&[("array", 1, 65536)]);
    code.insns = decode(&bytes).unwrap();
    for insn in &mut code.insns {
        if let Insn::LoadImm64 { value, .. } = insn {
            *value = slowpath_bpf::insn::Imm64::MapValue { map: 0, offset: 0 };
        }
    }
    let numbers = [0, 2, 3, 4, 5, 6, 7, 9];
    let path = Path::new(&code, numbers.map(|at| (at, "insn")));
    let elements: Vec<_> = path.steps.iter().map(|step| step.element).collect();
    let inside = Some(Element::Inside(0));
    // The second load is on the line of the first one, and the last one has a fixed offset.
    assert_eq!(elements, [None, None, None, inside, None, inside, None, None]);
    assert_eq!(path.tables, code.rooms);
    assert_eq!(Path::from_json(&path.to_json()).unwrap().tables, path.tables);
}

/// Returns the earlier stores that the last instruction of this program loads from: r3 = r10; r3 +=
/// -8; *(u64 *)(r10 - 16) = r0; `atomic` with r10 and r3; *(u64 *)(r3 + 0) = r0; r4 = *(u64 *)(r10
/// - 8).
fn forwarded_after(atomic: &str) -> Option<Forwarded> {
    let path = path(&format!(
        "bfa3000000000000 07030000f8ffffff 7b0af0ff00000000 {atomic} \
         7b03000000000000 79a4f8ff00000000"
    ));
    path.steps[5].forwarded
}

#[test]
fn addresses_survive_atomics_that_fetch_nothing() {
    // lock *(u64 *)(r10 - 16) += r3
    let stored = Some(Forwarded { store: 4, pieces: false });
    assert_eq!(forwarded_after("db3af0ff00000000"), stored);
    // The same with a fetch: r3 is the old value, which is no known address.
    assert_eq!(forwarded_after("db3af0ff01000000"), None);
    // Compare-and-exchange returns the old value in r0.
    assert_eq!(forwarded_after("db3af0fff1000000"), stored);
}

#[test]
fn atomics_change_the_values_in_memory() {
    // r3 = r10; r3 += -8; *(u64 *)(r10 - 16) = r3; `change`; r4 = *(u64 *)(r10 - 16);
    // *(u64 *)(r4 + 0) = r0; r5 = *(u64 *)(r10 - 8)
    let forwarded = |change: &str| {
        let path = path(&format!(
            "bfa3000000000000 07030000f8ffffff 7b3af0ff00000000 {change} \
             79a4f0ff00000000 7b04000000000000 79a5f8ff00000000"
        ));
        path.steps[6].forwarded
    };
    // r6 = r0, then lock *(u32 *)(r10 - 12) += r0
    assert_eq!(forwarded("bf06000000000000"), Some(Forwarded { store: 5, pieces: false }));
    assert_eq!(forwarded("c30af4ff00000000"), None);
    // "%d\0" at r10 - 8, then r1 = r10 - 8; r2 = 4; call 6
    let printed = |change: &str| {
        let hex = format!(
            "620af8ff25640000 {change} bfa1000000000000 07010000f8ffffff b702000004000000 \
             8500000006000000"
        );
        names(&hex, "call.trace_printk")
    };
    assert_eq!(printed("bf06000000000000"), ["trace_printk.1"]);
    assert_eq!(printed("c30af8ff00000000"), ["trace_printk"]);
}
