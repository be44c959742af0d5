//! Inputs of a translation besides the pipeline.

/// File name and packet lengths, on which a translation depends besides the pipeline.
#[derive(Clone, Debug)]
pub struct LiftOptions {
    /// Name of the file, for source locations.
    pub file: String,
    /// Smallest length of a packet in bytes.
    pub min_packet: u16,
    /// Greatest length of a packet in bytes.
    pub max_packet: u16,
}
