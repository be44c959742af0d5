//! The names of the stages of an analysis, for messages such as "deadline while ...".

/// Name of the stage that reads the file, its types and relocations.
pub(crate) const READING: &str = "reading the program";
/// Name of the stage that compiles the program for the SmartNIC.
pub(crate) const COMPILING: &str = "compiling the program for the card";
/// Name of the stage that lifts instructions to the intermediate representation.
pub(crate) const LIFTING: &str = "translating the program";
/// Name of the stage that finds facts about the packets that upstream programs send.
pub(crate) const ARRIVING: &str = "looking for facts about the packets that arrive";
/// Name of the stage that executes all paths together, with loops unrolled.
pub(crate) const UNROLLING: &str = "unrolling the program";
/// Name of the stage that searches for the slowest path.
pub(crate) const SEARCHING: &str = "searching for the slowest path";
/// Name of the stage that replays the slowest path, and divides its cost among instructions.
pub(crate) const REPORTING: &str = "replaying the slowest path";
/// Name of the stage that compares a compiled program with its source.
pub(crate) const VERIFYING: &str = "verifying the compiled program";
/// Name of the stage that searches for programs of a chain that no packet reaches.
pub(crate) const REACHING: &str = "looking for programs that no packet reaches";
/// Name of the stage that searches for the paths with the longest estimated times.
pub(crate) const ESTIMATING: &str = "estimating the slowest paths";
/// Name of the stage that proves the result again, for a certificate.
pub(crate) const CERTIFYING: &str = "making the certificate";
/// Name of the stage that verifies the claims of a certificate.
pub(crate) const CHECKING: &str = "checking the certificate";
