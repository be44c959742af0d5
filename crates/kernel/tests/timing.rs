//! Tests timed runs in the kernel: changes to packets and maps that should be undone between runs
//! are undone. No test checks a duration.

use crate::support;

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::mpsc;

use slowpath_bpf::insn::{AluOp, Call, Condition, Insn, Register, Size, Source, Width};
use slowpath_kernel::timing::{
    Attachments, Preparation, Rotation, Subject, TimingError, TimingThread, Undo, Wrapper,
};
use slowpath_kernel::{Context, Kernel, LoadedProgram, RunError, Variant};
use slowpath_oracle::Oracle;
use support::{DROP, PASS, assemble, kernel};

const PACKET: [u8; 64] = [0x11; 64];

fn set(dst: Register, src: Source) -> Insn {
    Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src }
}

fn load(kernel: &Kernel, insns: &[Insn], fragments: bool) -> LoadedProgram {
    kernel.load_generated("test", insns, Variant::xdp(fragments)).expect("loads")
}

fn empty(kernel: &Kernel, fragments: bool) -> LoadedProgram {
    load(kernel, &[set(Register::R0, Source::Imm(2)), Insn::Exit], fragments)
}

/// Loads a program that calls helpers such as `bpf_xdp_adjust_head`. Each pair in `calls` contains
/// the number of a helper and the number of bytes to pass to it. The program returns `XDP_PASS` if
/// all calls succeed, and `XDP_DROP` if not.
fn adjusting(kernel: &Kernel, calls: &[(i32, i32)]) -> LoadedProgram {
    let mut insns = vec![set(Register::R6, Source::Reg(Register::R1))];
    for &(helper, by) in calls {
        insns.extend([
            set(Register::R1, Source::Reg(Register::R6)),
            set(Register::R2, Source::Imm(by)),
            Insn::Call(Call::Helper(helper)),
            set(Register::R1, Source::Reg(Register::R0)),
            set(Register::R0, Source::Imm(2)),
            Insn::Branch {
                width: Width::W64,
                cond: Condition::Eq,
                dst: Register::R1,
                src: Source::Imm(0),
                offset: 2,
            },
            set(Register::R0, Source::Imm(1)),
            Insn::Exit,
        ]);
    }
    insns.push(Insn::Exit);
    load(kernel, &insns, false)
}

/// Loads a program that returns the lowest two bits of the packet's byte at offset `at`. The
/// program also adds `more` to this byte.
fn reading(kernel: &Kernel, at: i16, more: i32) -> LoadedProgram {
    let byte = |insn: fn(Register, Register, i16) -> Insn| insn(Register::R4, Register::R2, at);
    let insns = [
        Insn::Load {
            size: Size::W,
            signed: false,
            dst: Register::R2,
            base: Register::R1,
            offset: 0,
        },
        Insn::Load {
            size: Size::W,
            signed: false,
            dst: Register::R3,
            base: Register::R1,
            offset: 4,
        },
        set(Register::R4, Source::Reg(Register::R2)),
        Insn::Alu {
            width: Width::W64,
            op: AluOp::Add,
            dst: Register::R4,
            src: Source::Imm(i32::from(at) + 1),
        },
        set(Register::R0, Source::Imm(4)),
        Insn::Branch {
            width: Width::W64,
            cond: Condition::Gt,
            dst: Register::R4,
            src: Source::Reg(Register::R3),
            offset: 5,
        },
        byte(|dst, base, offset| Insn::Load { size: Size::B, signed: false, dst, base, offset }),
        set(Register::R0, Source::Reg(Register::R4)),
        Insn::Alu { width: Width::W64, op: AluOp::Add, dst: Register::R4, src: Source::Imm(more) },
        byte(|src, base, offset| Insn::Store {
            size: Size::B,
            base,
            offset,
            src: Source::Reg(src),
        }),
        Insn::Alu { width: Width::W64, op: AluOp::And, dst: Register::R0, src: Source::Imm(3) },
        Insn::Exit,
    ];
    load(kernel, &insns, false)
}

fn subject<'a>(program: &'a LoadedProgram, wrapper: Option<&'a Wrapper>) -> Subject<'a> {
    Subject { program, wrapper }
}

fn restoring(kernel: &Kernel, program: &LoadedProgram, undo: &Undo) -> Wrapper {
    let preparation = Preparation { undo: Some(undo), rotation: None };
    Wrapper::new(kernel, program, &preparation).expect("loads")
}

#[test]
fn a_station_works_in_a_namespace_of_its_own() {
    let Some(_) = kernel() else { return };
    let network = || std::fs::read_link("/proc/thread-self/ns/net").expect("is readable");
    let timing_thread = TimingThread::start(None).expect("starts");
    let namespace = timing_thread.run_job(move |_| network()).expect("answers");
    assert_ne!(namespace, network());
    let thread = timing_thread.run_job(|_| rustix::thread::gettid().as_raw_nonzero().get());
    assert_eq!(thread.expect("answers"), timing_thread.scheduling().thread);
    // A panicking job ends the thread. The waiting caller and later ones get an error instead of
    // waiting forever.
    assert!(timing_thread.run_job(|_| panic!("on purpose")).is_err());
    assert!(timing_thread.run_job(|_| ()).is_err());
    Oracle::Kernel.compared(1, "namespaces of stations");
}

#[test]
fn cancelled_jobs_continue_in_the_background() {
    let Some(_) = kernel() else { return };
    let timing_thread = TimingThread::start(None).expect("starts").with_cancellation(|| false);
    let (resume, resumed) = mpsc::channel::<()>();
    let (report, outcome) = mpsc::channel();
    let job = move |_: &_| {
        let _ = resumed.recv();
        report.send("done").expect("is heard");
    };
    assert!(matches!(timing_thread.run_job(job), Err(TimingError::Cancelled)));
    // Dropping the timing thread does not wait for the thread, which would block forever.
    drop(timing_thread);
    assert!(outcome.try_recv().is_err());
    drop(resume);
    assert_eq!(outcome.recv(), Ok("done"));
    Oracle::Kernel.compared(1, "jobs that go on alone");
}

#[test]
fn interrupted_runs_are_repeated_completely() {
    let Some(kernel) = kernel() else { return };
    let count = [set(Register::R0, Source::Imm(2)), Insn::Exit];
    let counted = kernel.load_counted(&assemble::object(&[&count]), 0).expect("loads");
    // After retries, only the instructions of the last try count.
    let pause = "sleep 0.01; kill -STOP $1; kill -CONT $1;".repeat(20);
    let process = std::process::id().to_string();
    let mut pausing = Command::new("sh").args(["-c", &pause, "sh", &process]).spawn();
    let pausing = pausing.as_mut().expect("there is a shell");
    let (mut runs, mut interrupted) = (0, 0);
    while pausing.try_wait().expect("is known").is_none() {
        let (_, tally) = counted.run_repeated(&PACKET, &Context::default(), 50_000).expect("runs");
        assert_eq!(tally.instructions, 100_000);
        let plain = counted.loaded().run(&PACKET, 50_000);
        interrupted += usize::from(matches!(plain, Err(RunError::Interrupted)));
        runs += 1;
    }
    Oracle::Kernel.compared(runs + interrupted, "runs with stops between");
}

#[test]
fn attached_programs_are_replaced() {
    let Some(kernel) = kernel() else { return };
    let (attachments, context) = (Attachments::default(), Context::default());
    for fragments in [false, true, false] {
        let empty = empty(&kernel, fragments);
        let drop = [set(Register::R0, Source::Imm(1)), Insn::Exit];
        let drop = load(&kernel, &drop, fragments);
        let mut attached = Vec::new();
        for (program, value) in [(&empty, PASS), (&drop, DROP), (&empty, PASS)] {
            let plain = subject(program, None);
            attached.push(plain.attach(&attachments).expect("attaches"));
            let sample = plain.sample(&PACKET, &context, 100).expect("runs");
            assert_eq!((sample.runs, sample.return_value), (100, value));
            assert!(sample.nanoseconds > 0);
            let wrapper = Wrapper::new(&kernel, program, &Preparation::default()).expect("loads");
            let wrapped = subject(program, Some(&wrapper));
            attached.push(wrapped.attach(&attachments).expect("attaches"));
            let sample = wrapped.sample(&PACKET, &context, 100).expect("runs");
            assert_eq!((sample.runs, sample.return_value), (99, value));
        }
        // A wrapper cannot call a program that differs in its support of multi-buffer packets. The
        // only effect is an error.
        let other = self::empty(&kernel, !fragments);
        let wrapper = Wrapper::new(&kernel, &empty, &Preparation::default()).expect("loads");
        assert!(subject(&other, Some(&wrapper)).sample(&PACKET, &context, 2).is_err());
    }
    Oracle::Kernel.compared(21, "timed calls");
}

#[test]
fn attaching_does_not_change_rcu_expedited() {
    const SETTING: &str = "/sys/kernel/rcu_expedited";
    let Some(kernel) = kernel() else { return };
    let Ok(before) = std::fs::read_to_string(SETTING) else { return };
    let attachments = Attachments::default();
    let program = empty(&kernel, false);
    let _attached = attachments.attach(&program).expect("is attached");
    assert_eq!(std::fs::read_to_string(SETTING).expect("reads"), before);
}

#[test]
fn moved_ends_are_put_back() {
    let Some(kernel) = kernel() else { return };
    let whole = vec![(0, PACKET.to_vec())];
    let moved = |head: i32, tail: i32, metadata_after: u32| Undo {
        head,
        tail,
        metadata_after,
        packet: whole.clone(),
        ..Undo::default()
    };
    // adjust_head, adjust_tail, adjust_meta
    let cases = [
        (vec![(44, -20)], moved(-20, 0, 0)),
        (vec![(44, 20)], moved(20, 0, 0)),
        (vec![(65, -20)], moved(0, -20, 0)),
        (vec![(65, 100)], moved(0, 100, 0)),
        (vec![(54, -8)], moved(0, 0, 8)),
        // The remaining packet is shorter than the 20 bytes to remove again.
        (vec![(44, -20), (65, -66)], moved(-20, -66, 0)),
        (vec![(65, 100), (44, 150)], moved(150, 100, 0)),
    ];
    for (calls, undo) in &cases {
        let program = adjusting(&kernel, calls);
        let context = Context::default();
        let plain = subject(&program, None).sample(&PACKET, &context, 1000);
        assert_eq!(plain.expect("runs").return_value, DROP, "{calls:?}");
        let wrapper = restoring(&kernel, &program, undo);
        let subject = subject(&program, Some(&wrapper));
        for _ in 0..3 {
            let sample = subject.sample(&PACKET, &context, 1000).expect("is restored");
            assert_eq!((sample.runs, sample.return_value), (999, PASS), "{calls:?}");
        }
    }
    Oracle::Kernel.compared(cases.len(), "moved ends put back");
}

#[test]
fn failed_restorations_are_an_error() {
    let Some(kernel) = kernel() else { return };
    let program = adjusting(&kernel, &[(44, -20)]);
    // The start moves in the wrong direction, until there is no room left.
    let undo = Undo { head: 20, ..Undo::default() };
    let wrapper = restoring(&kernel, &program, &undo);
    let subject = subject(&program, Some(&wrapper));
    let sample = subject.sample(&PACKET, &Context::default(), 1000);
    assert!(sample.expect_err("fails").to_string().contains("could not be undone"));
    assert_eq!(wrapper.run(&program, &PACKET, &Context::default(), 1000).expect("runs"), None);
    Oracle::Kernel.compared(1, "failed restorations");
}

#[test]
fn changed_bytes_are_put_back() {
    let Some(kernel) = kernel() else { return };
    let mut packet = PACKET;
    packet[21] = 0xa1;
    let program = reading(&kernel, 21, 1);
    let context = Context::default();
    // The byte counts up: the fourth run reads 0xa4.
    let plain = subject(&program, None).sample(&packet, &context, 4).expect("runs");
    assert_eq!(plain.return_value, 0);
    for (at, bytes) in [(21, vec![0xa1]), (0, packet.to_vec()), (19, packet[19..27].to_vec())] {
        let undo = Undo { packet: vec![(at, bytes)], ..Undo::default() };
        let wrapper = restoring(&kernel, &program, &undo);
        let subject = subject(&program, Some(&wrapper));
        let sample = subject.sample(&packet, &context, 4).expect("runs");
        assert_eq!(sample.return_value, 1);
    }
    Oracle::Kernel.compared(4, "changed bytes put back");
}

#[test]
fn rotations_visit_all_packets() {
    let Some(kernel) = kernel() else { return };
    let program = reading(&kernel, 30, 0);
    let flips = vec![vec![(20, 0xff), (30, 1)], vec![(30, 2), (40, 7)]];
    let rotation = Rotation::new(&[0xfc; 64], flips, [41]);
    let preparation = Preparation { undo: None, rotation: Some(&rotation) };
    let wrapper = Wrapper::new(&kernel, &program, &preparation).expect("loads");
    let seen: BTreeSet<u32> = (0..4)
        .map(|_| {
            let run = wrapper.run(&program, &PACKET, &Context::default(), 1).expect("runs");
            run.expect("nothing is to be restored").return_value
        })
        .collect();
    assert_eq!(seen, BTreeSet::from([0, 1, 2, 3]));
    let subject = subject(&program, Some(&wrapper));
    let sample = subject.sample(&PACKET, &Context::default(), 101).expect("runs");
    assert_eq!(sample.runs, 101, "the time of the call includes the last run");
    // There are too many packets, and the packet is too short for the second rotation.
    let many = Rotation::new(&PACKET, vec![vec![(0, 1)]; 31], []);
    let preparation = Preparation { undo: None, rotation: Some(&many) };
    assert!(Wrapper::new(&kernel, &program, &preparation).is_err());
    let far = Rotation::new(&PACKET, vec![vec![(100, 1)]], []);
    let preparation = Preparation { undo: None, rotation: Some(&far) };
    let wrapper = Wrapper::new(&kernel, &program, &preparation).expect("loads");
    assert_eq!(wrapper.run(&program, &PACKET, &Context::default(), 1).expect("runs"), None);
    Oracle::Kernel.compared(6, "rotations");
}
