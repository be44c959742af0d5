//! Compares a rewritten program with the original in the running kernel, before it is deployed.
//!
//! Packets first run through the upstream programs. Packets that the upstream programs pass on then
//! run through the original and the rewritten program, each with its own maps. [`rehearse`] reports
//! whether their results differ, and how long each program takes. Packets are made by changing seed
//! packets at random. If a packet makes the original take a new path, further packets are made from
//! this packet.
//!
//! This is a test, not a proof: it covers only the tried packets, with the map content to which
//! they lead. In return, it uses the real kernel with its verifier, just-in-time compiler and
//! helpers.
//!
//! Some results depend on more than packet and maps. Calls for the time and for random numbers
//! return the same fixed values in both programs (`answers`). To detect other influences, a second
//! copy of the original gets all packets, too. If the two copies differ, the programs cannot be
//! compared. In test runs, each program gets the packet at the initial place in the buffer.
//! Therefore it does not see the room that earlier programs left.
//!
//! A test run has one page for each packet. Devices differ from this in the room around the packet
//! and in the packet's length. Therefore frames are also sent through the whole chain on virtual
//! Ethernet devices, both in the driver and in the kernel's generic code. There, the original, its
//! copy and the rewritten program each have their own network namespace. If the machine does not
//! allow this, the result contains the reason ([`OnDevice::why_not`]).
//!
//! From the bottom up: `random`, `mutation`, `packets` and `answers` make the inputs.
//! `run_environment` describes test runs and devices. `program_harness` is one loaded program, and
//! `loaded_chain` is the chain in the kernel. `comparing` is the main loop, and `on_devices`
//! repeats it on devices. `covering` runs given packets with given map content. `repetition` finds
//! the packet after which maps differ. `rate` times both programs, and `turns` evaluates the times.

mod answers;
mod comparing;
mod covering;
mod error;
mod loaded_chain;
mod mutation;
mod on_devices;
mod options;
mod outcome;
mod packets;
mod program_harness;
mod random;
mod rate;
mod repetition;
mod run_environment;
#[cfg(test)]
mod schema;
mod sizes;
mod turns;
mod undo;
mod unpredictable;

use std::borrow::Cow;
use std::sync::Arc;
use std::thread;

use slowpath_bpf::Object;
use slowpath_kernel::timing::TimingError;
use slowpath_kernel::{Kernel, pin_to_current_cpu};
use slowpath_stop::Stop;

use on_devices::on_devices;
use packets::adapt_to_facts;
use random::Random;
use run_environment::RunEnvironment;

pub use error::RehearsalError;
pub use options::{Cover, Devices, Install, Options, Role, Stage, Subject};
pub use outcome::{Covered, Found, OnDevice, Rate, Rehearsal};
pub use packets::Packets;

/// Runs packets through a chain with two versions of its last program, and compares the results.
/// Uses test runs and virtual devices ([`Devices`]), and also times both versions.
///
/// `packets` arrive at the start of the chain. `install` is called for each loaded program to fill
/// its maps; the original and the rewritten program must get the same content. All runs are on a
/// new thread that is pinned to one CPU. 100,000 packets take a few seconds. If `stop` ends the
/// rehearsal, it returns the results so far.
///
/// # Errors
/// If the kernel's verifier rejects a program ([`RehearsalError::Load`], with its reason), or if
/// maps cannot be filled or read. Also if the rewritten program fails to run a packet that the
/// original runs.
pub fn rehearse<'a>(
    kernel: &Kernel,
    subject: &Subject<'_>,
    packets: impl Into<Packets<'a>>,
    install: Install<'_>,
    options: &Options,
    stop: &Stop,
) -> Result<Rehearsal, RehearsalError> {
    let sized = SizedSubject::new(subject);
    let subject = &sized.subject();
    let Packets { seeds, facts } = packets.into();
    let adapted = facts.map(|facts| {
        let mut random = Random::new(options.seed);
        let adapt = |seed: &Vec<u8>| adapt_to_facts(facts, seed.clone(), &mut random);
        seeds.iter().filter_map(adapt).collect::<Vec<_>>()
    });
    let seeds = adapted.as_deref().unwrap_or(seeds);
    on_one_cpu(|pinned| {
        stop.enter("running packets in the kernel");
        let packets = Packets { seeds, facts };
        let environment = RunEnvironment::TestRun;
        let (mut rehearsal, _) =
            comparing::compare(kernel, subject, packets, install, options, environment, stop)?;
        on_devices(kernel, subject, packets, install, options, stop, &mut rehearsal)?;
        rehearsal.notes.extend(sizes::note(&sized.chosen));
        if !pinned {
            let note = "the thread could not stay on one CPU, so per-CPU maps may differ";
            rehearsal.notes.push(note.to_owned());
        }
        if rehearsal.difference.is_none() && options.rounds > 0 && stop.reason().is_none() {
            stop.enter("timing in the kernel");
            let rate = match rate::rate(kernel, subject, seeds, install, options, stop) {
                // The comparison is valid without times.
                Err(RehearsalError::Timing(TimingError::Namespace(cause))) => {
                    Err(cause.to_string())
                }
                done => done?,
            };
            match rate {
                Ok(rate) => rehearsal.rate = Some(rate),
                Err(reason) => rehearsal.notes.push(format!("not timed: {reason}")),
            }
        }
        let ended = || stop.reason().map(|reason| reason.to_string());
        rehearsal.ended = rehearsal.ended.or_else(ended);
        Ok(rehearsal)
    })
}

/// Runs groups of given packets through the original and the rewritten program, but not through the
/// upstream programs. Each group gets new maps with its own content. Runs nothing if a program
/// calls functions with unpredictable results. Takes at most half of the remaining time, because
/// filling large maps for each group is slow, and [`rehearse`] needs time, too.
///
/// # Errors
/// As [`rehearse`]. However, a group is skipped if a map rejects its content
/// ([`Covered::not_installed`]).
pub fn cover(
    kernel: &Kernel,
    subject: &Subject<'_>,
    covers: &[Cover<'_>],
    stop: &Stop,
) -> Result<Covered, RehearsalError> {
    let sized = SizedSubject::new(subject);
    stop.enter("running a packet for each path in the kernel");
    let half = stop.within(stop.remaining().map(|remaining| remaining / 2));
    on_one_cpu(|_| covering::cover(kernel, &sized.subject(), covers, &half))
}

/// A copy of the compared programs and of the upstream programs, in which every map has a size.
struct SizedSubject<'a> {
    upstream: Vec<Stage>,
    original: (Cow<'a, Object>, usize),
    rewritten: (Cow<'a, Object>, usize),
    /// Names of the maps for which the module `sizes` chose a size.
    chosen: Vec<String>,
}

impl<'a> SizedSubject<'a> {
    fn new(subject: &Subject<'a>) -> SizedSubject<'a> {
        let (mut upstream, mut chosen) = (Vec::new(), Vec::new());
        for stage in subject.upstream {
            let (object, names) = sizes::with_sizes(&stage.object);
            chosen.extend(names);
            let object = match object {
                Cow::Borrowed(_) => Arc::clone(&stage.object),
                Cow::Owned(object) => Arc::new(object),
            };
            upstream.push(Stage { object, ..stage.clone() });
        }
        let (original, names) = sizes::with_sizes(subject.original.0);
        let (rewritten, _) = sizes::with_sizes(subject.rewritten.0);
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

/// Runs `work` on a new thread, which is pinned to one CPU if possible. The argument of `work` is
/// true if the thread was pinned.
fn on_one_cpu<T: Send>(
    work: impl FnOnce(bool) -> Result<T, RehearsalError> + Send,
) -> Result<T, RehearsalError> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("rehearsal".to_owned());
        let started = thread.spawn_scoped(scope, || work(pin_to_current_cpu()));
        let thread = started.map_err(|cause| RehearsalError::Thread { cause })?;
        thread.join().unwrap_or(Err(RehearsalError::Ended))
    })
}
