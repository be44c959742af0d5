//! What to analyse and how.

use crate::Error;
use slowpath_search::{Metric, UnrollLimits};

/// One file to analyse.
#[derive(Clone, Debug)]
pub struct Request {
    /// The file as the user named it.
    pub file: String,
    /// Its content.
    pub data: Vec<u8>,
    /// How.
    pub options: Options,
}

/// Options of an analysis, as the command line has them.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of a built-in target, or the text of a target description.
    pub target: String,
    /// Whether `target` is a description.
    pub target_is_text: bool,
    /// `bitrate` or `packetrate`.
    pub metric: String,
    /// Cores that run the program; all of the target's when absent.
    pub cores: Option<u32>,
    /// Loop limits: `N` or `N@.LOCATION`.
    pub unroll: Vec<String>,
    /// How many of the slowest satisfiable paths; all when absent.
    pub paths: Option<u64>,
    /// The longest packet in bytes.
    pub mtu: u16,
    /// Seconds after which the bound reached so far is the result.
    pub deadline_seconds: Option<f64>,
    /// Prices to assume: name of the file and TOML text.
    pub assume: Option<String>,
}

impl Options {
    /// The metric.
    pub(crate) fn metric(&self) -> Result<Metric, Error> {
        match self.metric.as_str() {
            "bitrate" => Ok(Metric::BitRate),
            "packetrate" => Ok(Metric::PacketRate),
            other => {
                Err(Error::Option(format!("unknown metric {other}: it is bitrate or packetrate")))
            }
        }
    }

    /// The loop limits.
    pub(crate) fn unroll_limits(&self) -> Result<UnrollLimits, Error> {
        let mut limits = UnrollLimits::default();
        for piece in &self.unroll {
            let wrong = || {
                Error::Option(format!(
                    "--unroll {piece}: expected N or N@.LOCATION, such as 160 or 10@.44"
                ))
            };
            let (count, location) = match piece.split_once('@') {
                Some((count, location)) => (count, Some(location)),
                None => (piece.as_str(), None),
            };
            let count: u32 = count.trim().parse().map_err(|_| wrong())?;
            match location {
                // Zero is how the published reports write "no loops".
                None => limits.every = (count > 0).then_some(count),
                Some(location) => {
                    let digits = location.trim().trim_start_matches('.');
                    limits.at.push((digits.parse().map_err(|_| wrong())?, count));
                }
            }
        }
        Ok(limits)
    }
}
