//! Parses the command line of the ablation benchmark, which compares variants of the path search.

use crate::program::Settings;
use std::fmt::Display;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

pub const USAGE: &str = "usage: ablation [--deadline SECONDS] [--repeat N] [--csv FILE] \
                         [--target NAME] [--metric NAME] [--cores N] [--unroll N] [FILE...]";

#[derive(Debug)]
pub struct Arguments {
    /// NFP listings and BPF objects to analyse. If empty, those in `examples/`.
    pub files: Vec<PathBuf>,
    pub settings: Settings,
    /// Time limit of each search.
    pub deadline: Duration,
    /// Number of repetitions of each search that completes.
    pub repeat: usize,
    /// CSV file for all measured figures; `None` if none is to be written.
    pub csv: Option<PathBuf>,
}

impl Arguments {
    /// Parses the arguments.
    ///
    /// # Errors
    /// If an argument is invalid.
    pub fn parse(given: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Arguments {
            files: Vec::new(),
            settings: Settings::default(),
            deadline: Duration::from_secs(60),
            repeat: 3,
            csv: None,
        };
        let mut given = given.into_iter();
        while let Some(argument) = given.next() {
            if !argument.starts_with("--") {
                arguments.files.push(argument.into());
                continue;
            }
            let mut value =
                || given.next().ok_or_else(|| format!("{argument}: a value is missing"));
            let settings = &mut arguments.settings;
            match argument.as_str() {
                "--deadline" => {
                    let seconds = number(&argument, &value()?)?;
                    let deadline = Duration::try_from_secs_f64(seconds);
                    arguments.deadline = deadline.map_err(|error| wrong(&argument, &error))?;
                }
                "--repeat" => arguments.repeat = number::<usize>(&argument, &value()?)?.max(1),
                "--csv" => arguments.csv = Some(value()?.into()),
                "--target" => settings.target = Some(value()?),
                "--metric" => settings.metric = Some(value()?),
                "--cores" => settings.cores = Some(number(&argument, &value()?)?),
                "--unroll" => settings.unroll = Some(number(&argument, &value()?)?),
                _ => return Err(format!("unknown option {argument}")),
            }
        }
        Ok(arguments)
    }
}

fn number<N: FromStr<Err: Display>>(option: &str, text: &str) -> Result<N, String> {
    text.parse().map_err(|error| wrong(option, &error))
}

fn wrong(option: &str, error: &dyn Display) -> String {
    format!("{option}: {error}")
}
