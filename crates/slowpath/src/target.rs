//! The device that a program is analysed for, read once for any number of programs.

use crate::Error;
use slowpath_target::{Fitted, InstructionSet, TargetError};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A target and what its user calls it. Clones share the description.
///
/// One that does not exist, or whose description is not valid, says so when it is used: each of the
/// programs that are for it then has that error.
#[derive(Clone, Debug, Default)]
pub struct Target {
    name: String,
    /// The description, as TOML.
    text: Cow<'static, str>,
    description: Description,
}

#[derive(Clone, Debug, Default)]
enum Description {
    Valid(Arc<slowpath_target::Target>),
    Invalid(TargetError),
    /// There is no built-in target of the name.
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
    /// The built-in target of a name.
    pub fn builtin(name: &str) -> Target {
        let known = slowpath_target::Target::builtin(name);
        let description = known.map_or(Description::Unknown, Description::from);
        let text = slowpath_target::Target::builtin_text(name).unwrap_or_default();
        Target { name: name.to_owned(), text: text.into(), description }
    }

    /// The target that a text describes (`docs/targets.md`); `name` is what its user calls it.
    pub fn parse(name: &str, text: String) -> Target {
        let read = slowpath_target::Target::parse(&text, OPTION);
        Target { name: name.to_owned(), text: text.into(), description: read.into() }
    }

    /// What its user calls it: the name of a built-in one, or that of a file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Everything that is wrong with its description, also what keeps nobody from using it, such as
    /// a number without a source.
    pub fn problems(&self) -> Vec<String> {
        slowpath_target::check(&self.text)
    }

    /// What options call the components of a target that counts: the metrics of its analyses. `None`
    /// for a target with rates, and for what is no valid target.
    pub fn counters(&self) -> Option<Vec<String>> {
        self.valid()?.metrics()
    }

    /// Bytes of the longest packet unless `Options::mtu` says otherwise. `None` for what is no valid
    /// target.
    pub fn max_packet(&self) -> Option<u32> {
        Some(self.valid()?.max_packet)
    }

    /// Whether programs of BPF objects are compiled for it; not for one that has their instructions,
    /// nor for what is no valid target.
    pub fn compiles(&self) -> bool {
        self.valid().is_some_and(|target| target.instruction_set == InstructionSet::Nfp)
    }

    /// The description, for an analysis.
    ///
    /// # Errors
    /// When there is none, or it is not valid.
    pub fn description(&self) -> Result<slowpath_target::Target, Error> {
        match &self.description {
            Description::Valid(target) => Ok(slowpath_target::Target::clone(target)),
            Description::Invalid(error) => Err(Error::in_file_of(OPTION, error.clone())),
            Description::Unknown => {
                let known = slowpath_target::Target::builtin_names().join(", ");
                Err(Error::Option(format!("unknown target {}: known are {known}", self.name)))
            }
        }
    }

    /// The machine whose times it estimates, and when these were measured; `None` where it does not
    /// estimate.
    pub fn machine(&self) -> Option<(String, String)> {
        let timing = self.valid()?.timing.as_ref()?;
        Some((timing.machine.clone(), timing.date.clone()))
    }

    /// The reason against the calibration as the default of that machine; `None` where it is good enough,
    /// or where it does not say.
    pub fn doubt(&self) -> Option<String> {
        self.valid()?.timing.as_ref()?.calibration.as_ref()?.doubt.clone()
    }

    /// The models of components that its estimates can use, by their names.
    pub fn models(&self) -> &BTreeMap<String, Fitted> {
        static NONE: BTreeMap<String, Fitted> = BTreeMap::new();
        self.valid().and_then(|target| target.timing.as_ref()).map_or(&NONE, |known| &known.models)
    }

    fn valid(&self) -> Option<&slowpath_target::Target> {
        match &self.description {
            Description::Valid(target) => Some(target),
            Description::Invalid(_) | Description::Unknown => None,
        }
    }
}

/// The option that names the file of a description.
const OPTION: &str = "--target";

impl From<&str> for Target {
    /// The built-in target of a name.
    fn from(name: &str) -> Self {
        Target::builtin(name)
    }
}
