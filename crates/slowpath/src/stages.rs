//! The names of the stages of an analysis, for messages such as "deadline while ...".

/// Reading the file, its types and relocations.
pub(crate) const READING: &str = "reading the program";
/// Compiling for the card.
pub(crate) const COMPILING: &str = "compiling the program for the card";
/// Lifting instructions to the intermediate representation.
pub(crate) const LIFTING: &str = "translating the program";
/// Finding facts about the packets that upstream programs send.
pub(crate) const ARRIVING: &str = "looking for facts about the packets that arrive";
/// Executing all paths together.
pub(crate) const UNROLLING: &str = "unrolling the program";
/// Searching for the slowest path.
pub(crate) const SEARCHING: &str = "searching for the slowest path";
/// Replaying the slowest path, and attributing its cost.
pub(crate) const REPORTING: &str = "replaying the slowest path";
/// Comparing a compiled program with its source.
pub(crate) const VERIFYING: &str = "verifying the compiled program";
/// Searching for programs of a chain that no packet reaches.
pub(crate) const REACHING: &str = "looking for programs that no packet reaches";
/// Searching for the paths with the longest estimated times.
pub(crate) const ESTIMATING: &str = "estimating the slowest paths";
