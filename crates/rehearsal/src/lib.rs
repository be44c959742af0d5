//! A rewritten program beside the original in the running kernel, before it is deployed.
//!
//! Packets go through the programs that come first, and what these let through goes through the
//! original and the rewritten program, each with maps of its own: [`rehearse`] says whether the two
//! do the same, and how much faster the rewritten one is. Packets are mutants of given ones; those that
//! make the original execute another number of instructions than any before are mutated further.
//!
//! It is a test, not a proof: it says something of the packets that were tried, with map content that
//! they led to. It does ask the real kernel: its verifier, its just-in-time compiler, its helpers.
//!
//! What neither packet nor maps determine cannot be compared. Calls for the time and for random
//! numbers get the same answers in both programs (`answers`). Others that may differ are looked for,
//! and a second copy of the original gets all packets, too: if the two copies differ, nothing is said
//! of the rewritten program. In programs that are passed a packet starts where it started first: they
//! do not see how much room earlier ones left.
//!
//! A test run has a page for each packet; devices differ in the room around it and in its length. So
//! frames go through the whole chain on virtual Ethernet, too, in the driver and in the kernel's
//! generic code, each of original, copy and rewritten program in a network namespace of its own. A
//! machine without that says why in the result ([`OnDevice::why_not`]).
//!
//! From the bottom: `random`, `mutation`, `packets` and `answers` make what is tried, `station` says
//! where it runs, `lane` is one program there, `bench` the chain in the kernel, `comparing` the loop,
//! `on_devices` the same on devices, `covering` what it does with packets that are given with content of
//! maps, `culprit` finds the packet behind different maps, `rate` times both, and `turns` says what the
//! times mean.

mod answers;
mod bench;
mod comparing;
mod covering;
mod culprit;
mod error;
mod lane;
mod mutation;
mod on_devices;
mod open;
mod options;
mod outcome;
mod packets;
mod random;
mod rate;
mod sizes;
mod station;
mod turns;
mod undo;

use std::borrow::Cow;
use std::sync::Arc;
use std::thread;

use slowpath_bpf::Object;
use slowpath_kernel::timing::TimingError;
use slowpath_kernel::{Kernel, stay};
use slowpath_stop::Stop;

use on_devices::on_devices;
use packets::made_to_hold;
use random::Random;
use station::Station;

pub use error::RehearsalError;
pub use options::{Cover, Devices, Install, Options, Place, Stage, Subject};
pub use outcome::{Covered, Found, OnDevice, Rate, Rehearsal};
pub use packets::Packets;

/// Runs packets through a chain whose last program is there twice, and times both.
///
/// Afterwards, frames on virtual devices go through the chain there ([`Devices`]).
///
/// `packets` are those as they arrive at the chain. `install` fills maps each time that programs are loaded: it is told which one it is, and
/// has to fill those of original and rewritten program alike. All runs are on a thread of its own that
/// stays on one CPU. 100,000 packets take a few seconds. If it is time to stop, it ends with what is
/// known by then.
///
/// # Errors
/// If the kernel's verifier refuses a program ([`RehearsalError::Load`], which says why), maps are not
/// filled or read, or the rewritten program does not run a packet that the original runs.
pub fn rehearse<'a>(
    kernel: &Kernel,
    subject: &Subject<'_>,
    packets: impl Into<Packets<'a>>,
    install: Install<'_>,
    options: &Options,
    stop: &Stop,
) -> Result<Rehearsal, RehearsalError> {
    let sized = SizedSubject::of(subject);
    let subject = &sized.subject();
    let Packets { seeds, facts } = packets.into();
    let held = facts.map(|facts| {
        let mut random = Random::new(options.seed);
        let made = seeds.iter().filter_map(|seed| made_to_hold(facts, seed.clone(), &mut random));
        made.collect::<Vec<_>>()
    });
    let seeds = held.as_deref().unwrap_or(seeds);
    on_one_cpu(|stays| {
        stop.enter("running packets in the kernel");
        let packets = Packets { seeds, facts };
        let station = Station::TestRun;
        let (mut rehearsal, _) =
            comparing::compare(kernel, subject, packets, install, options, station, stop)?;
        on_devices(kernel, subject, packets, install, options, stop, &mut rehearsal)?;
        rehearsal.notes.extend(sizes::note(&sized.chosen));
        if !stays {
            let note = "the thread could not stay on one CPU: maps with a value for each CPU may \
                        differ for that";
            rehearsal.notes.push(note.to_owned());
        }
        if rehearsal.difference.is_none() && options.rounds > 0 && stop.reason().is_none() {
            stop.enter("timing in the kernel");
            let rate = match rate::rate(kernel, subject, seeds, install, options, stop) {
                // What was compared is known all the same.
                Err(RehearsalError::Timing(TimingError::Namespace(why))) => Err(why.to_string()),
                done => done?,
            };
            match rate {
                Ok(rate) => rehearsal.rate = Some(rate),
                Err(why) => rehearsal.notes.push(format!("nothing is timed: {why}")),
            }
        }
        rehearsal.ended = rehearsal.ended.or_else(|| stop.reason().map(|why| why.to_string()));
        Ok(rehearsal)
    })
}

/// Runs given packets through the original and the rewritten program, each group on maps that are
/// filled for it: not through those in front. Nothing is run of programs whose runs are determined by
/// more than packet, maps and what calls are answered. It takes half of the time that is left at most:
/// large maps take long to be made for each group, and other packets are to have their turn.
///
/// # Errors
/// As [`rehearse`], but that groups are left out whose content maps do not take
/// ([`Covered::not_installed`]).
pub fn cover(
    kernel: &Kernel,
    subject: &Subject<'_>,
    covers: &[Cover<'_>],
    stop: &Stop,
) -> Result<Covered, RehearsalError> {
    let sized = SizedSubject::of(subject);
    stop.enter("running a packet for each path in the kernel");
    let part = stop.within(stop.left().map(|left| left / 2));
    on_one_cpu(|_| covering::cover(kernel, &sized.subject(), covers, &part))
}

/// Programs whose maps all have a size.
struct SizedSubject<'a> {
    upstream: Vec<Stage>,
    original: (Cow<'a, Object>, usize),
    rewritten: (Cow<'a, Object>, usize),
    /// The names of maps whose size was chosen here.
    chosen: Vec<String>,
}

impl<'a> SizedSubject<'a> {
    fn of(subject: &Subject<'a>) -> SizedSubject<'a> {
        let (mut upstream, mut chosen) = (Vec::new(), Vec::new());
        for stage in subject.upstream {
            let (object, names) = sizes::sized(&stage.object);
            chosen.extend(names);
            let object = match object {
                Cow::Borrowed(_) => Arc::clone(&stage.object),
                Cow::Owned(object) => Arc::new(object),
            };
            upstream.push(Stage { object, ..stage.clone() });
        }
        let (original, names) = sizes::sized(subject.original.0);
        let (rewritten, _) = sizes::sized(subject.rewritten.0);
        chosen.extend(names);
        SizedSubject {
            upstream,
            original: (original, subject.original.1),
            rewritten: (rewritten, subject.rewritten.1),
            chosen,
        }
    }

    fn subject(&self) -> Subject<'_> {
        Subject {
            upstream: &self.upstream,
            original: (&self.original.0, self.original.1),
            rewritten: (&self.rewritten.0, self.rewritten.1),
        }
    }
}

/// Does it on a thread of its own, which is told whether it stays on one CPU.
fn on_one_cpu<T: Send>(
    work: impl FnOnce(bool) -> Result<T, RehearsalError> + Send,
) -> Result<T, RehearsalError> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("rehearsal".to_owned());
        let started = thread.spawn_scoped(scope, || work(stay()));
        let thread = started.map_err(|cause| RehearsalError::Thread { cause })?;
        thread.join().unwrap_or(Err(RehearsalError::Ended))
    })
}
