//! What to analyse and how.

use crate::kernel_types::KernelTypes;
use crate::object::ProgramFile;
use crate::{Error, Target};
use serde::Deserialize;
use slowpath_bpf::lift::Receive;
use slowpath_nfp::firmware::{MAX_PACKET, RECEIVE};
use slowpath_search::Metric;
use slowpath_stop::Limits;
use slowpath_target::{InstructionSet, TargetKind};
use std::sync::Arc;
use std::time::Duration;

/// One program to analyse.
#[derive(Clone, Debug)]
pub struct ProgramRequest {
    /// The file as the user named it.
    pub file: String,
    /// What is in it: one file can have many programs.
    pub object: ProgramFile,
    /// Which program of an object, by its number there; listings have one.
    pub program: usize,
    /// The kernel that the program is for, if it is known.
    pub kernel: Option<Arc<KernelTypes>>,
    /// How.
    pub options: Options,
}

impl ProgramRequest {
    /// The first program of a file, with default options.
    pub fn of(file: impl Into<String>, object: ProgramFile) -> Self {
        ProgramRequest {
            file: file.into(),
            object,
            program: 0,
            kernel: None,
            options: Options::default(),
        }
    }

    /// The same about the file as options configure it: `set`, and read-only data in `maps`.
    ///
    /// # Errors
    /// As [`ProgramFile::configured`].
    pub(crate) fn configured(&self) -> Result<ProgramRequest, Error> {
        let Options { set, maps, .. } = &self.options;
        let object = self.object.configured(set, maps.as_deref())?;
        Ok(ProgramRequest { object, ..self.clone() })
    }
}

/// Options of an analysis, as the command line has them. They cross layers as one value: whoever
/// does not use an option does not name it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The device; it has been read, other options are plain data.
    #[serde(skip)]
    pub target: Target,
    /// `bitrate` (the default) or `packetrate`; on targets that count, one of their components, by
    /// default the first.
    pub metric: Option<String>,
    /// Cores that run the program; all of the target's when absent.
    pub cores: Option<u32>,
    /// Loop limits: `N`, `N@.INSTRUCTION` or `N@FILE:LINE`.
    pub unroll: Vec<String>,
    /// How many of the slowest satisfiable paths; all when absent.
    pub paths: Option<u64>,
    /// The longest packet in bytes, Ethernet header included, frame check sequence not; what the
    /// target says when absent.
    pub mtu: Option<u16>,
    /// How packets arrive at programs in a kernel: see [`Receive::parse`]; `any` when absent.
    pub receive: Option<String>,
    /// Seconds after which the bound reached so far is the result.
    pub deadline_seconds: Option<f64>,
    /// Memory of the process, in bytes, above which the bound reached so far is the result.
    pub memory_bytes: Option<u64>,
    /// TOML text of prices to assume and helpers to assume something about.
    pub assume: Option<String>,
    /// Content of maps, as TOML or JSON text.
    pub maps: Option<String>,
    /// Values of variables that loaders set: `NAME=VALUE`, or `NAME=any`; see
    /// [`slowpath_bpf::Object::set`].
    pub set: Vec<String>,
    /// How compiled programs reach maps: `array-pointer` (the default) or `call`.
    pub map_abi: Option<String>,
    /// Entries in each map that has room for so many, for estimates; one when absent.
    pub entries: Option<u64>,
    /// Of so many paths, what only human reports show is in the detail.
    pub path_details: u64,
    /// Whether the detail has all instructions of the program.
    pub code: bool,
}

impl Options {
    /// When the work is to end, from now on.
    pub fn limits(&self) -> Limits {
        let time = |seconds: f64| Duration::try_from_secs_f64(seconds.max(0.0));
        Limits {
            time: self.deadline_seconds.map(|seconds| time(seconds).unwrap_or(Duration::MAX)),
            memory: self.memory_bytes,
            ..Limits::default()
        }
    }

    /// Least and greatest packet length on this target, in bytes.
    ///
    /// # Errors
    /// When the greatest is below the least, or more than packets are known to have.
    pub(crate) fn packets(&self, target: &slowpath_target::Target) -> Result<(u16, u16), Error> {
        let (least, greatest) = (target.min_packet, self.mtu.map_or(target.max_packet, u32::from));
        let both = (u16::try_from(least), u16::try_from(greatest));
        if let (Ok(least), Ok(greatest)) = both
            && least <= greatest
            && greatest <= MAX_PACKET
        {
            return Ok((least, greatest));
        }
        let given = match self.mtu {
            Some(mtu) => format!("--mtu {mtu}"),
            None => format!("`max_size_bytes = {greatest}` without --mtu"),
        };
        Err(Error::Option(format!(
            "{given}: packets on {} have {least} to {MAX_PACKET} bytes",
            target.name
        )))
    }

    /// How packets arrive on this target, and what a result rests on because of that, if it does.
    ///
    /// A kernel runs programs in any environment. A target with rates says itself how long packets
    /// are, and a card how they arrive.
    ///
    /// # Errors
    /// For an environment that there is not, and lengths that it does not have.
    pub(crate) fn arrivals(
        &self,
        target: &slowpath_target::Target,
    ) -> Result<(Receive, Option<String>), Error> {
        let on_card = target.instruction_set == InstructionSet::Nfp;
        if on_card {
            if self.receive.is_some() {
                return Err(Error::Option(format!(
                    "--receive: packets arrive on {} as its firmware has it",
                    target.name
                )));
            }
            let (least, greatest) = self.packets(target)?;
            return Ok((RECEIVE.with_length(least, greatest), None));
        }
        let name = self.receive.as_deref().unwrap_or("any");
        let wrong = |why: String| Error::Option(format!("--receive: {why}"));
        let mut receive = Receive::parse(name).map_err(wrong)?;
        if target.kind == TargetKind::Rates {
            let condition = receive.with_length(0, u16::MAX).condition(name);
            let (least, greatest) = self.packets(target)?;
            return Ok((receive.with_length(least, greatest), condition));
        }
        if let Some(mtu) = self.mtu {
            let (least, greatest) = (receive.length.0, receive.longest());
            if !(least..=greatest).contains(&mtu) {
                return Err(Error::Option(format!(
                    "--mtu {mtu}: packets that arrive as {name} delivers them have {least} to \
                     {greatest} bytes"
                )));
            }
            receive = receive.with_length(least, mtu);
        }
        Ok((receive, receive.condition(name)))
    }

    /// Entries in each map that has room for so many.
    ///
    /// # Errors
    /// When there are none, or the target estimates nothing.
    pub(crate) fn entries(&self, target: &slowpath_target::Target) -> Result<Option<u64>, Error> {
        match self.entries {
            Some(0) => Err(Error::Option("--entries 0: maps have 1 entry or more".to_owned())),
            Some(_) if target.timing.is_none() => Err(Error::Option(format!(
                "--entries: target {} estimates no times; --target linux-xdp does",
                target.name
            ))),
            entries => Ok(entries),
        }
    }

    /// What is searched for on this target, and its name.
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
            let why = match target.kind {
                TargetKind::Rates => "",
                TargetKind::Counts => ", which counts and has no rates",
            };
            Error::Option(format!(
                "unknown metric {name}: on target {}{why}, it is {known}",
                target.name
            ))
        })?;
        Ok((metric, name))
    }
}
