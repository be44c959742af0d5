//! Names of the stages of an analysis, for messages such as "deadline while ...".

/// Reads the file, its types and relocations.
pub(crate) const READING: &str = "reading the program";
/// Compiles the program for the card.
pub(crate) const COMPILING: &str = "compiling the program for the card";
/// Lifts the instructions to the intermediate representation.
pub(crate) const LIFTING: &str = "translating the program";
/// Finds facts about the packets that programs in front send.
pub(crate) const ARRIVING: &str = "looking for facts about the packets that arrive";
/// Executes all paths together.
pub(crate) const UNROLLING: &str = "unrolling the program";
/// Searches for the slowest path.
pub(crate) const SEARCHING: &str = "searching for the slowest path";
/// Replays the path that was found and attributes its cost.
pub(crate) const REPORTING: &str = "replaying the slowest path";
/// Compares a compiled program with its source.
pub(crate) const VERIFYING: &str = "verifying the compiled program";
/// Finds programs of a chain that no packet reaches.
pub(crate) const REACHING: &str = "looking for programs that no packet reaches";
/// Finds the paths with the longest estimated times.
pub(crate) const ESTIMATING: &str = "estimating the slowest paths";
