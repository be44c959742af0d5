use super::{End, Graph};
use crate::assemble;
use crate::support::{is, listing};
use slowpath_bpf::Object;
use slowpath_generate::{Features, Programs};
use slowpath_kernel::Kernel;
use slowpath_kernel::agreement::{compare, compare_maps};
use slowpath_oracle::Oracle;

/// Number of random programs that a test converts to graphs and back.
const PROGRAMS: u64 = 100;

#[test]
fn blocks_end_with_jumps() {
    let program = assemble::program(
        "r5 = *(u32 *)(r1 +12)
        again:
        if r5 > 7 goto out
        r5 += 1
        goto again
        out:
        r0 = r5
        exit",
    );
    let graph = Graph::of(&program).expect("it has a graph");
    let ends: Vec<End> = graph.blocks.iter().map(|block| block.end).collect();
    let End::Branch { taken, other, .. } = ends[1] else { panic!("{ends:?}") };
    assert_eq!(
        (taken, other, ends[0], ends[2], ends[3]),
        (3, 2, End::Jump(1), End::Jump(1), End::Exit)
    );
    let loops = graph.loops(0).expect("it has one entry");
    assert_eq!((loops.len(), loops[0].header), (1, 1));
    assert_eq!(loops[0].blocks.iter().copied().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_loop_with_two_entries_is_none() {
    let program = assemble::program(
        "r5 = *(u32 *)(r1 +12)
        if r5 > 7 goto second
        first:
        r5 += 1
        second:
        r5 += 2
        if r5 < 100 goto first
        r0 = 1
        exit",
    );
    assert_eq!(Graph::of(&program).expect("it has a graph").loops(0), None);
}

#[test]
fn what_control_cannot_get_to_is_not_written() {
    let program = assemble::program(
        "goto on
        r0 = 5
        exit
        on:
        r0 = 0x123456789 ll
        exit
        unused::
        r0 = 1
        exit",
    );
    let emitted = Graph::of(&program).expect("a graph").emit(&program).expect("it is short");
    is(&emitted.program, "r0 = 0x123456789 ll\nexit");
    assert_eq!((emitted.origins, emitted.original), (vec![3, 3, 5], None));
    assert_eq!(emitted.program.subprograms.len(), 1);
}

#[test]
fn functions_that_are_called_stay_as_they_are() {
    let text = "
        r1 = 2
        call first
        exit
        second::
        r0 = r1
        exit
        first::
        call second
        r0 += 1
        exit";
    let program = assemble::program(text);
    let emitted = Graph::of(&program).expect("a graph").emit(&program).expect("it is short");
    // Functions are in the order of the first calls.
    let names: Vec<&str> = emitted.program.subprograms.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["test", "first", "second"]);
    is(
        &emitted.program,
        "r1 = 2
        call first
        exit
        first::
        call second
        r0 += 1
        exit
        second::
        r0 = r1
        exit",
    );
}

#[test]
fn jumps_to_nowhere_have_no_graph() {
    let mut program = assemble::program("r5 = 1\nif r5 > 7 goto out\nout:\nr0 = 1\nexit");
    for offset in [2, -3, 100, i16::MIN, i16::MAX] {
        if let slowpath_bpf::insn::Insn::Branch { offset: to, .. } = &mut program.insns[1] {
            *to = offset;
        }
        let error = Graph::of(&program).expect_err("there is nothing");
        assert!(error.what.contains("jump"), "{error}");
    }
    let open = assemble::program("r0 = 1");
    assert!(Graph::of(&open).expect_err("no end").what.contains("past its end"));
}

#[test]
fn programs_that_went_round_do_in_the_kernel_what_they_did() {
    let kernel = match Kernel::available() {
        Ok(kernel) => kernel,
        Err(reason) => return Oracle::Kernel.missing(reason),
    };
    let programs = Programs::new(Features { random: false, ..Features::default() }, 8);
    let mut compared = 0;
    for seed in 0..PROGRAMS {
        let object = Object::parse(&programs.from_seed(seed).object()).expect("an object");
        let program = object.link(0, None).expect("links");
        let round = |program: &slowpath_bpf::BpfProgram| {
            let graph = Graph::of(program).expect("it has a graph");
            graph.emit(program).expect("it is short").program
        };
        let once = round(&program);
        assert_eq!(listing(&round(&once).insns), listing(&once.insns), "{seed}: twice");
        let first = kernel.load(&object, 0).expect("it is accepted");
        let second = kernel.load_rewritten(&object, &once).expect("it is accepted");
        for number in 0..10_usize {
            let byte = |at: usize| (at * 37 + number * 101 + seed as usize) as u8 >> (number % 5);
            let packet: Vec<u8> = (0..14 + number * 13).map(byte).collect();
            assert_eq!(compare(&first, &second, &packet).expect("runs"), None, "{seed}");
            compared += 1;
        }
        assert_eq!(compare_maps(&first, &second).expect("are read"), None, "{seed}");
    }
    Oracle::Kernel.compared(compared, "packets in programs that went round");
}
