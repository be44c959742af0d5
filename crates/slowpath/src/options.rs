//! A request to analyse a program, and the options of the analysis.

use crate::kernel_types::KernelTypes;
use crate::object::ProgramFile;
use crate::{Error, Target};
use serde::Deserialize;
use slowpath_bpf::lift::Receive;
use slowpath_codes as codes;
use slowpath_estimate::Occupancy;
use slowpath_nfp::firmware::{MAX_PACKET, RECEIVE};
use slowpath_search::Metric;
use slowpath_stop::Limits;
use slowpath_target::{InstructionSet, TargetKind};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A request to analyse one program of a file, with options.
#[derive(Clone, Debug)]
pub struct ProgramRequest {
    /// The name of the file, as the user stated it.
    pub file: String,
    /// Content of the file, which can contain many programs.
    pub object: ProgramFile,
    /// Index of the program in the object; 0 for a listing, which is one program.
    pub program: usize,
    /// Types of the kernel that the program is compiled for; `None` if they are not known.
    pub kernel: Option<Arc<KernelTypes>>,
    /// Options of the analysis, such as target and limits.
    pub options: Options,
}

impl ProgramRequest {
    /// Creates a request for the first program of a file, with default options. `file` is the name
    /// of the file in results.
    pub fn of(file: impl Into<String>, object: ProgramFile) -> Self {
        ProgramRequest {
            file: file.into(),
            object,
            program: 0,
            kernel: None,
            options: Options::default(),
        }
    }

    /// Returns the request after the options `set` (variables) and `maps` (map content) were
    /// applied to the file. Of `maps`, only the content of read-only data sections is applied.
    ///
    /// # Errors
    /// The same as those of [`ProgramFile::configured`].
    pub(crate) fn configured(&self) -> Result<ProgramRequest, Error> {
        let Options { set, maps, .. } = &self.options;
        let object = self.object.configured(set, maps.as_deref())?;
        Ok(ProgramRequest { object, ..self.clone() })
    }
}

/// Options of an analysis, as on the command line. They are one value, so that code can pass them
/// on without naming each option.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The device for which the program is analysed. Its description is already parsed; all other
    /// options are plain data.
    #[serde(skip)]
    pub target: Target,
    /// Metric of the guarantee: `bitrate` (the default) or `packetrate`. On targets that count
    /// events instead of computing rates, such as `ebpf`, it is the name of a component, such as
    /// `instructions`; the default is the first component.
    pub metric: Option<String>,
    /// Number of cores that run the program; all cores of the target if absent.
    pub cores: Option<u32>,
    /// Limits on iterations of loops: `N`, `N@.INSTRUCTION` or `N@FILE:LINE`.
    pub unroll: Vec<String>,
    /// Number of slowest satisfiable paths to find; all paths if absent.
    pub paths: Option<u64>,
    /// Length of the longest packet in bytes, with the Ethernet header and without the frame check
    /// sequence; the target's maximum if absent.
    pub mtu: Option<u16>,
    /// The way in which packets arrive at programs in a kernel. See [`Receive::parse`] for the
    /// names; `any` if absent.
    pub receive: Option<String>,
    /// Time in seconds after which the bound reached so far becomes the result.
    pub deadline_seconds: Option<f64>,
    /// When the process uses more memory than this many bytes, the bound reached so far becomes the
    /// result.
    pub memory_bytes: Option<u64>,
    /// TOML text with assumed prices and assumptions about helpers.
    pub assume: Option<String>,
    /// Initial content of maps, as TOML or JSON text.
    pub maps: Option<String>,
    /// Values of variables that loaders set: `NAME=VALUE`, or `NAME=any` for an arbitrary value;
    /// see [`slowpath_bpf::Object::set`].
    pub set: Vec<String>,
    /// Convention by which compiled programs access maps (map ABI): `array-pointer` (the default)
    /// or `call`.
    pub map_abi: Option<String>,
    /// Number of entries in each map for which times in cold caches are estimated; at most the
    /// map's capacity. All maps are full if absent.
    pub entries: Option<u64>,
    /// Numbers of entries for single maps and tables, by name; they replace `entries` for these
    /// maps. A number may exceed the capacity of the map.
    pub entries_of: BTreeMap<String, u64>,
    /// CPU for which times are estimated, if it is of another family than the machine that the
    /// target describes.
    pub foreign_cpu: Option<String>,
    /// Number of slowest paths for which details are returned that only human reports show.
    pub path_details: u64,
    /// True if the details for human reports contain all instructions of the program.
    pub code: bool,
    /// True if the report contains a certificate ([`crate::check_certificate`]).
    pub certificate: bool,
}

impl Options {
    /// Returns the time limit and the memory limit. The time starts now.
    pub fn limits(&self) -> Limits {
        let time = |seconds: f64| Duration::try_from_secs_f64(seconds.max(0.0));
        Limits {
            time: self.deadline_seconds.map(|seconds| time(seconds).unwrap_or(Duration::MAX)),
            memory: self.memory_bytes,
            ..Limits::default()
        }
    }

    /// Returns the minimum and maximum packet length for this target, in bytes.
    ///
    /// # Errors
    /// If the maximum length is below the minimum, or above the length of the longest possible
    /// packet.
    pub(crate) fn packets(&self, target: &slowpath_target::Target) -> Result<(u16, u16), Error> {
        let (least, greatest) = (target.min_packet, self.mtu.map_or(target.max_packet, u32::from));
        let both = (u16::try_from(least), u16::try_from(greatest));
        if let (Ok(least), Ok(greatest)) = both
            && least <= greatest
            && greatest <= MAX_PACKET
        {
            return Ok((least, greatest));
        }
        let cause = match self.mtu {
            Some(mtu) => format!("--mtu {mtu}"),
            None => format!("`max_size_bytes = {greatest}` without --mtu"),
        };
        Err(Error::Option(
            codes::PACKET_LENGTHS,
            format!("{cause}: packets on {} have {least} to {MAX_PACKET} bytes", target.name),
        ))
    }

    /// Returns the way in which packets arrive at programs on this target. The second part of the
    /// result is a condition in words, if results hold only for this way of arrival.
    ///
    /// A kernel can run programs in any environment, such as different device drivers. A target
    /// with rates determines the packet lengths, and a SmartNIC also determines the way in which
    /// packets arrive.
    ///
    /// # Errors
    /// If the environment is unknown, or does not have packets of the requested length.
    pub(crate) fn arrivals(
        &self,
        target: &slowpath_target::Target,
    ) -> Result<(Receive, Option<String>), Error> {
        if target.instruction_set != InstructionSet::Bpf {
            if self.receive.is_some() {
                let by = match target.instruction_set {
                    InstructionSet::Nfp => "the firmware",
                    _ => "DPDK",
                };
                let what = format!(
                    "--receive does not apply to {}, where {by} determines how packets arrive",
                    target.name
                );
                return Err(Error::Option(codes::OPTION_WITHOUT_EFFECT, what));
            }
            let (least, greatest) = self.packets(target)?;
            return Ok((RECEIVE.with_length(least, greatest), None));
        }
        let name = self.receive.as_deref().unwrap_or("any");
        let wrong =
            |reason: String| Error::Option(codes::INVALID_VALUE, format!("--receive: {reason}"));
        let mut receive = Receive::parse(name).map_err(wrong)?;
        if target.kind == TargetKind::Rates {
            let condition = receive.with_length(0, u16::MAX).condition(name);
            let (least, greatest) = self.packets(target)?;
            return Ok((receive.with_length(least, greatest), condition));
        }
        if let Some(mtu) = self.mtu {
            let (least, greatest) = (receive.length.0, receive.longest());
            if !(least..=greatest).contains(&mtu) {
                return Err(Error::Option(
                    codes::PACKET_LENGTHS,
                    format!(
                        "--mtu {mtu}: packets that arrive as {name} delivers them have {least} to \
                     {greatest} bytes"
                    ),
                ));
            }
            receive = receive.with_length(least, mtu);
        }
        Ok((receive, receive.condition(name)))
    }

    /// Returns the number of entries that estimates assume in cold caches. If `entries_of` names
    /// maps, all maps count as full, because [`Options::apply_entries`] has set their sizes.
    ///
    /// # Errors
    /// If a number is 0, or the target does not estimate times.
    pub(crate) fn entries(&self, target: &slowpath_target::Target) -> Result<Occupancy, Error> {
        let named = self.entries_of.iter().map(|(name, &entries)| (format!("{name}="), entries));
        let all = self.entries.map(|entries| (String::new(), entries));
        if let Some((name, _)) = all.into_iter().chain(named).find(|(_, entries)| *entries == 0) {
            return Err(Error::Option(
                codes::INVALID_VALUE,
                format!("--entries {name}0: write 1 or more entries"),
            ));
        }
        let is_set = self.entries.is_some() || !self.entries_of.is_empty();
        if is_set && target.timing.is_none() && target.interpreter.is_none() {
            return Err(Error::Option(
                codes::TARGET_WITHOUT_TIMES,
                format!(
                    "--entries: target {} does not estimate times; use --target linux-xdp",
                    target.name
                ),
            ));
        }
        Ok(match self.entries {
            Some(entries) if self.entries_of.is_empty() => Occupancy::Entries(entries),
            _ => Occupancy::Full,
        })
    }

    /// Describes the assumed entries in cold caches for results: `full`, a number, or
    /// `NAME=NUMBER,..., others full`.
    pub(crate) fn entries_text(&self) -> String {
        let others = self.entries.map_or_else(|| "full".to_owned(), |entries| entries.to_string());
        if self.entries_of.is_empty() {
            return others;
        }
        let named = self.entries_of.iter().map(|(name, entries)| format!("{name}={entries}"));
        format!("{}, others {others}", named.collect::<Vec<_>>().join(","))
    }

    /// Sets the sizes of maps to the numbers of entries that estimates assume, if `entries_of`
    /// names maps. `maps` has the names and sizes of all maps. Users may omit the beginning of a
    /// name up to a `_` if only one map has the rest: names of P4 tables begin with the names of
    /// their controls.
    ///
    /// # Errors
    /// If the option names a map that does not exist.
    pub(crate) fn apply_entries<'m>(
        &self,
        maps: impl Iterator<Item = (&'m str, &'m mut u32)>,
    ) -> Result<(), Error> {
        if self.entries_of.is_empty() {
            return Ok(());
        }
        let number = |entries: u64| u32::try_from(entries).unwrap_or(u32::MAX);
        let (names, mut sizes): (Vec<&str>, Vec<&mut u32>) = maps.unzip();
        if let Some(entries) = self.entries {
            sizes.iter_mut().for_each(|size| **size = number(entries).min(**size));
        }
        for (name, &entries) in &self.entries_of {
            let ending = format!("_{name}");
            let mut ends = (0..names.len()).filter(|&at| names[at].ends_with(&ending));
            let exact = names.iter().position(|known| known == name);
            let found = exact.or_else(|| ends.next().filter(|_| ends.next().is_none()));
            let Some(at) = found else {
                let known = match names.as_slice() {
                    [] => "the program has none".to_owned(),
                    names => format!("write one of {}", names.join(", ")),
                };
                let what = format!("--entries: no map or table is named {name}; {known}");
                return Err(Error::Option(codes::INVALID_VALUE, what));
            };
            *sizes[at] = number(entries);
        }
        Ok(())
    }

    /// Returns the metric that the search uses on this target, and its name.
    ///
    /// # Errors
    /// If the target has no metric of the requested name.
    pub(crate) fn metric(
        &self,
        target: &slowpath_target::Target,
    ) -> Result<(Metric, String), Error> {
        let metrics = match target.kind {
            TargetKind::Rates => vec!["bitrate".to_owned(), "packetrate".to_owned()],
            TargetKind::Counts => target.metrics().unwrap_or_default(),
        };
        let name = self.metric.clone().or_else(|| metrics.first().cloned()).unwrap_or_default();
        let found = match (target.kind, name.as_str()) {
            (TargetKind::Rates, "bitrate") => Some(Metric::BitRate),
            (TargetKind::Rates, "packetrate") => Some(Metric::PacketRate),
            (TargetKind::Rates, _) => None,
            (TargetKind::Counts, name) => target.counter(name).map(Metric::Component),
        };
        let metric = found.ok_or_else(|| {
            let known = metrics.join(" or ");
            let reason = match target.kind {
                TargetKind::Rates => "",
                TargetKind::Counts => ", which counts and has no rates",
            };
            Error::Option(
                codes::UNKNOWN_METRIC,
                format!("unknown metric {name}: on target {}{reason}, it is {known}", target.name),
            )
        })?;
        Ok((metric, name))
    }
}
