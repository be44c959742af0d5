//! The chain in the kernel.

use std::collections::BTreeMap;

use slowpath_bpf::Object;
use slowpath_kernel::agreement::{Content, Difference, content, difference};
use slowpath_kernel::witness::Installed;
use slowpath_kernel::{Answer, Kernel, Loaded, Map, RunError, TestRun};

use crate::answers::Answers;
use crate::error::RehearsalError;
use crate::lane::{Arrival, Lane, Ran, fill};
use crate::options::{Install, Place, Subject};
use crate::station::Station;

/// Maps with more elements than this are not compared.
const MOST_ELEMENTS: u32 = 1 << 18;

/// All programs, each with maps of its own.
pub struct Bench<'a> {
    subject: &'a Subject<'a>,
    /// The programs in front, for test runs; empty on devices.
    upstream: Vec<Loaded>,
    original: Lane,
    rewritten: Lane,
    /// The original once more: where it differs from itself, nothing can be said of others.
    control: Lane,
    /// What maps held at the start that only one of the two programs has.
    lonely: BTreeMap<String, (Place, Content)>,
    /// What keeps the content of maps as it is.
    _installed: Vec<Option<Installed>>,
}

/// What both did with a packet.
pub enum Comparison {
    /// The kernel does not run it: it would not have arrived.
    Refused(RunError),
    /// Programs in front kept it.
    Kept,
    /// No program got it.
    Lost,
    /// It did not get to all copies alike.
    Apart,
    /// The original does not do the same twice.
    Undetermined(Difference),
    /// This.
    Ran {
        /// How they differ, if they do.
        difference: Option<Difference>,
        /// What tells ways apart that the original takes: what it returns, by how much the packet
        /// grows, and how many instructions it takes.
        way: (u32, i64, u64),
    },
}

/// Loads a program, with maps filled.
pub fn load(
    kernel: &Kernel,
    place: Place,
    (object, program): (&Object, usize),
    install: Install<'_>,
) -> Result<(Loaded, Option<Installed>), RehearsalError> {
    let loaded = kernel.load(object, program);
    let loaded = loaded.map_err(|cause| RehearsalError::Load { place, cause: Box::new(cause) })?;
    let installed = fill(place, &loaded, install)?;
    Ok((loaded, installed))
}

/// The programs that come first.
pub fn load_upstream(
    kernel: &Kernel,
    subject: &Subject<'_>,
    install: Install<'_>,
) -> Result<Vec<(Loaded, Option<Installed>)>, RehearsalError> {
    let stages = subject.upstream.iter().enumerate();
    let load = |(number, stage): (usize, &crate::Stage)| {
        load(kernel, Place::Upstream(number), (&stage.object, stage.program), install)
    };
    stages.map(load).collect()
}

/// Loads a program for test runs.
fn plain(
    kernel: &Kernel,
    (place, (object, program), answers): (Place, (&Object, usize), &[Answer]),
    install: Install<'_>,
    kept: &mut Vec<Option<Installed>>,
) -> Result<Lane, RehearsalError> {
    let loaded = kernel.load_with_answers(object, program, answers);
    let loaded = loaded.map_err(|cause| RehearsalError::Load { place, cause: Box::new(cause) })?;
    kept.push(fill(place, &loaded, install)?);
    Ok(Lane::Plain(loaded))
}

impl<'a> Bench<'a> {
    /// Loads all of them anew, with calls that are answered so.
    pub fn new(
        kernel: &Kernel,
        subject: &'a Subject<'a>,
        install: Install<'_>,
        answers: &Answers,
        station: Station,
    ) -> Result<Bench<'a>, RehearsalError> {
        let original = (Place::Original, subject.original, answers.original.as_slice());
        let rewritten = (Place::Rewritten, subject.rewritten, answers.rewritten.as_slice());
        let (mut upstream, mut kept) = (Vec::new(), Vec::new());
        let [original, rewritten, control] = match station {
            Station::Device(wired) => {
                let mut lane = |program| {
                    Lane::on_device(kernel, wired, subject.upstream, program, install, &mut kept)
                };
                [lane(original)?, lane(rewritten)?, lane(original)?]
            }
            Station::TestRun => {
                (upstream, kept) = load_upstream(kernel, subject, install)?.into_iter().unzip();
                let mut plain = |program| plain(kernel, program, install, &mut kept);
                let lanes = [plain(original)?, plain(rewritten)?];
                let (object, program) = subject.original;
                let control = match kernel.load_answered(object, program, &answers.original) {
                    Ok(counted) => {
                        kept.push(fill(Place::Original, counted.loaded(), install)?);
                        Lane::Counted(Box::new(counted))
                    }
                    // It was loaded before: what is in the way is the counting.
                    Err(_) => plain(original)?,
                };
                let [original, rewritten] = lanes;
                [original, rewritten, control]
            }
        };
        let mut lonely = BTreeMap::new();
        let pairs = [
            (Place::Original, subject.original.0, original.loaded(), rewritten.loaded()),
            (Place::Rewritten, subject.rewritten.0, rewritten.loaded(), original.loaded()),
        ];
        for (place, object, own, other) in pairs {
            for map in maps(object, own) {
                let definition = map.definition();
                // What is read-only is part of the code.
                let differs = other.map(&definition.name).is_none() && !definition.read_only;
                if differs && is_compared(map) {
                    lonely.insert(definition.name.clone(), (place, content(map)?));
                }
            }
        }
        Ok(Bench { subject, upstream, original, rewritten, control, lonely, _installed: kept })
    }

    /// Names of maps that are not compared.
    pub fn unread(&self) -> Vec<String> {
        let pairs = [
            (self.subject.original.0, self.original.loaded()),
            (self.subject.rewritten.0, self.rewritten.loaded()),
        ];
        let names = pairs.into_iter().flat_map(|(object, program)| maps(object, program));
        let names = names.filter(|map| !is_compared(map));
        let mut names: Vec<String> = names.map(|map| map.definition().name.clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// The packet as it gets through the programs that come first; `None` if it does not. On devices,
    /// as it is: it goes through them there.
    pub fn pass(&self, packet: Vec<u8>) -> Result<Option<Arrival>, RehearsalError> {
        pass(self.subject, &self.upstream, packet)
    }

    /// Runs a packet in both.
    pub fn compare(&self, arrival: &Arrival) -> Result<Comparison, RehearsalError> {
        let run = match self.original.run(arrival)? {
            // It would not have arrived.
            Ran::Refused(fault) => return Ok(Comparison::Refused(fault)),
            run => run,
        };
        // Programs in front of each have maps, too: all run whatever the first one does.
        let (other, again) = (self.rewritten.run(arrival)?, self.control.run(arrival)?);
        match (run, other, again) {
            (Ran::Done(run, _), Ran::Done(other, _), Ran::Done(again, instructions)) => {
                if let Some(difference) = difference(&run, &again) {
                    return Ok(Comparison::Undetermined(difference));
                }
                let growth = run.packet.len() as i64 - arrival.packet.len() as i64;
                let way = (run.return_value, growth, instructions);
                Ok(Comparison::Ran { difference: difference(&run, &other), way })
            }
            (_, Ran::Refused(fault), _) | (_, _, Ran::Refused(fault)) => Err(fault.into()),
            (Ran::Kept, Ran::Kept, Ran::Kept) => Ok(Comparison::Kept),
            (Ran::Lost, Ran::Lost, Ran::Lost) => Ok(Comparison::Lost),
            _ => Ok(Comparison::Apart),
        }
    }

    /// Compares the maps of both; those that one of them has alone, with their content at the start.
    pub fn compare_maps(&self) -> Result<Option<Difference>, RehearsalError> {
        if let Some(difference) = compare_shared(
            self.subject.original.0,
            self.original.loaded(),
            self.rewritten.loaded(),
        )? {
            return Ok(Some(difference));
        }
        for (name, (place, start)) in &self.lonely {
            let of = if *place == Place::Original { &self.original } else { &self.rewritten };
            let now = of.loaded().map(name).map(content).transpose()?;
            if now.is_some_and(|now| now != *start) {
                return Ok(Some(Difference::Map { name: name.clone() }));
            }
        }
        Ok(None)
    }

    /// How the maps of the original differ from those of the original, run once more.
    pub fn compare_control_maps(&self) -> Result<Option<Difference>, RehearsalError> {
        compare_shared(self.subject.original.0, self.original.loaded(), self.control.loaded())
    }
}

/// Whether the content of a map is looked at. Reading each element of a large one would take longer
/// than all packets together.
fn is_compared(map: &Map) -> bool {
    let definition = map.definition();
    definition.kind.is_readable() && definition.max_entries <= MOST_ELEMENTS
}

/// How maps that both programs have differ, of those of an object.
fn compare_shared(
    object: &Object,
    first: &Loaded,
    second: &Loaded,
) -> Result<Option<Difference>, RehearsalError> {
    for map in maps(object, first).filter(|map| is_compared(map)) {
        let name = &map.definition().name;
        let Some(other) = second.map(name) else { continue };
        if content(map)? != content(other)? {
            return Ok(Some(Difference::Map { name: name.clone() }));
        }
    }
    Ok(None)
}

/// The packet as it gets through the programs that come first; `None` if it does not.
pub fn pass(
    subject: &Subject<'_>,
    upstream: &[Loaded],
    packet: Vec<u8>,
) -> Result<Option<Arrival>, RehearsalError> {
    let mut arrival = Arrival::bare(packet);
    for (stage, loaded) in subject.upstream.iter().zip(upstream) {
        match loaded.run_in(&arrival.packet, 1, &arrival.context()) {
            Ok(TestRun { return_value, packet, metadata, .. })
                if stage.results.contains(&return_value) =>
            {
                arrival = Arrival { packet, metadata };
            }
            // What the kernel does not run, does not arrive either.
            Ok(_) | Err(RunError::TooShort { .. } | RunError::Kernel { .. }) => return Ok(None),
            Err(fault) => return Err(fault.into()),
        }
    }
    Ok(Some(arrival))
}

/// The maps that a program of an object has.
fn maps<'l>(object: &Object, loaded: &'l Loaded) -> impl Iterator<Item = &'l Map> {
    (0..object.maps.len()).filter_map(|number| loaded.map_at(number))
}
