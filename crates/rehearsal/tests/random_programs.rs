//! Tests that rehearsals of correctly rewritten programs report no difference. The programs are
//! random sequences of map operations. Some of them use maps that evict elements.

use std::sync::atomic::{AtomicUsize, Ordering};

use slowpath_bpf::Object;
use slowpath_generate::sequence::{SequenceFeatures, Sequences};
use slowpath_ir::PacketFacts;
use slowpath_kernel::Kernel;
use slowpath_oracle::{Oracle, random_cases};
use slowpath_rehearsal::{Devices, Options, Rehearsal, Subject, rehearse};
use slowpath_specialise::{Mode, specialise};
use slowpath_stop::Stop;

/// Number of random sequences of map operations. This number is tested with maps that evict
/// elements, and the same number without.
const SEQUENCES: u64 = 10;
/// Number of packets that each sequence of map operations gets, enough to compare the maps more
/// than once.
const PACKETS: u64 = 2500;
/// Number of frames that each sequence of map operations gets on each device.
const FRAMES: u64 = 50;

fn rehearsed(kernel: &Kernel, original: &Object, rewritten: &Object) -> Rehearsal {
    let subject = Subject { upstream: &[], original: (original, 0), rewritten: (rewritten, 0) };
    let devices = Devices { frames: FRAMES, ..Devices::ALL };
    let options = Options { packets: PACKETS, seed: 3, rounds: 0, devices, ..Options::default() };
    let seeds = [vec![0; 130]];
    let done = rehearse(kernel, &subject, &seeds, &|_, _| Ok(None), &options, &Stop::never());
    done.expect("runs")
}

fn sequences(evictions: bool) -> impl Iterator<Item = Object> {
    let sequences = Sequences::new(SequenceFeatures { evictions, ..SequenceFeatures::default() });
    (0..random_cases(SEQUENCES))
        .map(move |seed| Object::parse(&sequences.from_seed(seed).object()).expect("is an object"))
}

#[test]
fn rewritten_sequences_agree_even_if_maps_evict() {
    let kernel = match Kernel::available() {
        Ok(kernel) => kernel,
        Err(reason) => return Oracle::Kernel.missing(reason),
    };
    let (packets, frames) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let undetermined = |evictions| {
        let undetermined = sequences(evictions).enumerate().filter(|(seed, original)| {
            let program = original.link(0, None).expect("links");
            let facts = PacketFacts::lengths(14, 1514);
            let made = specialise(original, &program, &facts, Mode::Trust, &Stop::never());
            let made = made.expect("is specialised").program;
            let rewritten = original.write(&[&made]).expect("is written");
            let rewritten = Object::parse(&rewritten).expect("is an object");
            let done = rehearsed(&kernel, original, &rewritten);
            assert_eq!(done.difference, None, "sequence {seed}, evictions: {evictions}");
            packets.fetch_add(done.compared as usize, Ordering::Relaxed);
            for device in &done.devices {
                frames.fetch_add(device.frames as usize, Ordering::Relaxed);
            }
            if let Some(reason) = &done.undetermined {
                eprintln!("sequence {seed}: {reason}");
            }
            done.undetermined.is_some()
        });
        undetermined.count()
    };
    let (plain, evicting) = (undetermined(false), undetermined(true));
    eprintln!("{plain} and {evicting} of {SEQUENCES} cannot be compared");
    // Only sequences that read the time or random numbers, or whose maps evict, are undetermined.
    assert!(plain * 2 < SEQUENCES as usize, "{plain}");
    Oracle::Kernel.compared(packets.into_inner(), "packets in rehearsals");
    let frames = frames.into_inner();
    eprintln!("{frames} frames on virtual Ethernet");
    Oracle::Kernel.compared(frames, "frames in rehearsals");
}
