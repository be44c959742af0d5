//! The device for which programs are analysed, called the target. Its description is read once and
//! used for any number of programs.

use crate::Error;
use slowpath_codes as codes;
use slowpath_target::{Fitted, InstructionSet, TargetError};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The device for which programs are analysed, and its name. Clones share the description.
///
/// Creating a target never fails. If the target does not exist or its description is not valid,
/// every program analysed for it reports the error.
#[derive(Clone, Debug, Default)]
pub struct Target {
    name: String,
    /// The description of the target, as TOML.
    text: Cow<'static, str>,
    description: Description,
}

#[derive(Clone, Debug, Default)]
enum Description {
    Valid(Arc<slowpath_target::Target>),
    Invalid(TargetError),
    /// There is no built-in target with the given name.
    #[default]
    Unknown,
}

impl From<Result<slowpath_target::Target, TargetError>> for Description {
    fn from(read: Result<slowpath_target::Target, TargetError>) -> Self {
        match read {
            Ok(target) => Description::Valid(Arc::new(target)),
            Err(error) => Description::Invalid(error),
        }
    }
}

impl Target {
    /// Returns the built-in target with this name. If there is none, every analysis for it reports
    /// an error.
    pub fn builtin(name: &str) -> Target {
        let known = slowpath_target::Target::builtin(name);
        let description = known.map_or(Description::Unknown, Description::from);
        let text = slowpath_target::Target::builtin_text(name).unwrap_or_default();
        Target { name: name.to_owned(), text: text.into(), description }
    }

    /// Parses the TOML description of a target (`docs/reference/targets.md`). `name` is the name
    /// that the user has given.
    pub fn parse(name: &str, text: String) -> Target {
        let read = slowpath_target::Target::parse(&text, OPTION);
        Target { name: name.to_owned(), text: text.into(), description: read.into() }
    }

    /// Returns the name that the user has given: that of a built-in target, or a file name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns all problems of the target's description, one sentence each. Some do not prevent its
    /// use, such as a number without a source.
    pub fn problems(&self) -> Vec<String> {
        slowpath_target::check(&self.text)
    }

    /// Returns the names of the metrics, such as `instructions`, of a target that counts events:
    /// one for each component. Returns `None` for targets that compute rates, and for invalid
    /// targets.
    pub fn counters(&self) -> Option<Vec<String>> {
        self.valid()?.metrics()
    }

    /// Returns the length of the longest packet in bytes. `Options::mtu` can change it. Returns
    /// `None` for invalid targets.
    pub fn max_packet(&self) -> Option<u32> {
        Some(self.valid()?.max_packet)
    }

    /// Returns true if programs of BPF objects are compiled for the target. Returns false for
    /// targets that execute BPF instructions, and for invalid targets.
    pub fn compiles(&self) -> bool {
        self.valid().is_some_and(|target| target.instruction_set == InstructionSet::Nfp)
    }

    /// Returns true if the target runs pipelines of DPDK's software switch; false if it is invalid.
    pub fn runs_pipelines(&self) -> bool {
        self.valid().is_some_and(|target| target.instruction_set == InstructionSet::Swx)
    }

    /// Returns the parsed description of the target.
    ///
    /// # Errors
    /// If the target does not exist or its description is not valid.
    pub fn description(&self) -> Result<slowpath_target::Target, Error> {
        match &self.description {
            Description::Valid(target) => Ok(slowpath_target::Target::clone(target)),
            Description::Invalid(error) => Err(Error::in_file_of(OPTION, error.clone())),
            Description::Unknown => {
                let known = slowpath_target::Target::builtin_names().join(", ");
                Err(Error::Option(
                    codes::UNKNOWN_TARGET,
                    format!("unknown target {}; built-in targets are {known}", self.name),
                ))
            }
        }
    }

    /// Returns the name of the machine whose times the target estimates, and the date when they
    /// were measured. Returns `None` if the target does not estimate times.
    pub fn machine(&self) -> Option<(String, String)> {
        let target = self.valid()?;
        let of_core = || target.timing.as_ref().map(|one| (&one.machine, &one.date));
        let of_interpreter = || target.interpreter.as_ref().map(|one| (&one.machine, &one.date));
        let (machine, date) = of_core().or_else(of_interpreter)?;
        Some((machine.clone(), date.clone()))
    }

    /// Returns the reason why the calibration of estimated times is too poor to be used by default
    /// on its machine. Returns `None` if it is good enough, or does not state its quality.
    pub fn doubt(&self) -> Option<String> {
        self.valid()?.timing.as_ref()?.calibration.as_ref()?.doubt.clone()
    }

    /// Returns the fitted models, such as those of helper calls, that the target uses for
    /// estimates, by name.
    pub fn models(&self) -> &BTreeMap<String, Fitted> {
        static NONE: BTreeMap<String, Fitted> = BTreeMap::new();
        let Some(target) = self.valid() else { return &NONE };
        let of_core = target.timing.as_ref().map(|timing| &timing.models);
        of_core.or(target.interpreter.as_ref().map(|one| &one.models)).unwrap_or(&NONE)
    }

    fn valid(&self) -> Option<&slowpath_target::Target> {
        match &self.description {
            Description::Valid(target) => Some(target),
            Description::Invalid(_) | Description::Unknown => None,
        }
    }
}

/// The command-line option that names the file with a target's description.
const OPTION: &str = "--target";

impl From<&str> for Target {
    fn from(name: &str) -> Self {
        Target::builtin(name)
    }
}
