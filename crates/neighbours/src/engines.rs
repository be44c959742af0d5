//! Processes the payloads of requests. The libraries zstd and regex stand for the hardware of an
//! accelerator.

use regex::bytes::{Regex, RegexBuilder};
use zstd::bulk::Compressor;

use crate::error::{NeighbourError, zeros};
use crate::payloads::RULES;
use crate::spec::Service;

/// Size limit in bytes of the automaton (DFA) that the regex matcher builds while it runs. When the
/// automaton reaches the limit, the matcher starts again, which takes long. The limit is so large
/// that this does not happen.
const MAX_DFA_BYTES: usize = 16 << 20;
/// Compression level that is passed to zstd.
const LEVEL: i32 = 1;

/// A library that processes payloads, with the state that it keeps between requests.
pub enum Engine {
    /// A regex matcher. It counts the matches of all rules in a payload.
    Regex(Regex),
    /// A zstd compressor, with the buffer for its output.
    Compression { compressor: Compressor<'static>, out: Vec<u8> },
}

impl Engine {
    /// Creates an engine for a service on payloads of at most `largest` bytes.
    ///
    /// # Errors
    /// If a library fails, or there is not enough memory.
    pub fn new(service: Service, largest: usize) -> Result<Engine, NeighbourError> {
        let library = |error: String| NeighbourError::Library(error);
        match service {
            Service::Regex => {
                let all = RULES.map(|rule| format!("(?:{rule})")).join("|");
                let mut builder = RegexBuilder::new(&all);
                let regex = builder.unicode(false).dfa_size_limit(MAX_DFA_BYTES).build();
                Ok(Engine::Regex(regex.map_err(|error| library(error.to_string()))?))
            }
            Service::Compression => {
                let compressor =
                    Compressor::new(LEVEL).map_err(|error| library(error.to_string()))?;
                let out = zeros("compressed payloads", zstd::zstd_safe::compress_bound(largest))?;
                Ok(Engine::Compression { compressor, out })
            }
        }
    }

    /// Processes one payload. Returns the number of regex matches in the payload, or its compressed
    /// size in bytes. Returns 0 if the compressed payload does not fit into the output buffer.
    #[inline]
    pub fn serve(&mut self, payload: &[u8]) -> u64 {
        match self {
            Engine::Regex(regex) => regex.find_iter(payload).count() as u64,
            Engine::Compression { compressor, out } => {
                compressor.compress_to_buffer(payload, out.as_mut_slice()).unwrap_or(0) as u64
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Engine, LEVEL};
    use crate::payloads::{Payloads, RULES};
    use crate::spec::Service;
    use regex::bytes::RegexSet;

    /// Tests that payloads have exactly the stated number of matches, both if each rule matches
    /// separately and if one matcher searches for all rules.
    #[test]
    fn all_matches_are_found() {
        for (size, mtbr, expected) in [(1458, 600.0, 87), (100, 9000.0, 90), (1458, 0.0, 0)] {
            let count = 100;
            let payloads = Payloads::new(count, size, mtbr, 7).unwrap();
            let mut engine = Engine::new(Service::Regex, size).unwrap();
            let found: u64 = (0..count).map(|at| engine.serve(payloads.get(at))).sum();
            assert_eq!(found, expected, "{size} bytes, {mtbr} matches per MB");
            let set = RegexSet::new(RULES).unwrap();
            for at in 0..count {
                let all = set.is_match(payloads.get(at));
                assert_eq!(engine.serve(payloads.get(at)) > 0, all);
            }
        }
    }

    #[test]
    fn each_rule_has_its_matches() {
        let payloads = Payloads::new(64, 1458, 20_000.0, 3).unwrap();
        let set = RegexSet::new(RULES).unwrap();
        let seen: std::collections::BTreeSet<usize> =
            (0..64).flat_map(|at| set.matches(payloads.get(at))).collect();
        assert_eq!(seen.len(), RULES.len());
    }

    #[test]
    fn compressed_payloads_can_be_restored() {
        let payloads = Payloads::new(8, 1000, 1000.0, 9).unwrap();
        let mut engine = Engine::new(Service::Compression, 1000).unwrap();
        for at in 0..8 {
            let size = engine.serve(payloads.get(at)) as usize;
            assert!((1..1000).contains(&size));
            let Engine::Compression { out, .. } = &engine else { panic!("another engine") };
            let back = zstd::bulk::decompress(&out[..size], 1000).unwrap();
            assert_eq!(back, payloads.get(at));
            assert_eq!(zstd::bulk::compress(payloads.get(at), LEVEL).unwrap().len(), size);
        }
    }

    #[test]
    fn too_many_matches_are_refused() {
        assert!(Payloads::new(10, 8, 1.0, 0).is_ok());
        assert!(Payloads::new(1000, 8, 1000.0, 0).is_err());
    }
}
