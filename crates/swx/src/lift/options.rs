//! Options of the translation.

/// Options of the translation: file name and packet lengths.
#[derive(Clone, Debug)]
pub struct LiftOptions {
    /// Name of the `.spec` file, for source locations.
    pub file: String,
    /// Smallest packet length in bytes.
    pub min_packet: u16,
    /// Largest packet length in bytes.
    pub max_packet: u16,
}
