//! Running an analysis to its end.

use serde_json::Value;
use slowpath::{Analysis, Event, Options, Request, Step};
use std::time::Duration;

/// The options that the command line has by default.
pub fn options() -> Options {
    Options {
        target: "agilio-cx-2x40".into(),
        target_is_text: false,
        metric: "bitrate".into(),
        cores: None,
        unroll: Vec::new(),
        paths: Some(1),
        mtu: 1500,
        deadline_seconds: None,
        assume: None,
    }
}

/// The result of analysing a listing, and the bounds on the way.
pub fn analyse(data: &[u8], options: Options) -> (Value, Vec<f64>) {
    let request = Request { file: "folder/test.asm".into(), data: data.to_vec(), options };
    let analysis = Analysis::start(request);
    let mut bounds = Vec::new();
    loop {
        match analysis.next(Duration::from_secs(60)) {
            Step::Pending => panic!("the analysis takes more than a minute"),
            Step::Finished => panic!("the analysis ended without a result"),
            Step::Event(Event::Bound { bitrate_bps, .. }) => bounds.push(bitrate_bps),
            Step::Event(Event::Path { .. }) => {}
            Step::Event(Event::Result(report)) => {
                let result = serde_json::from_str(&report.json).expect("the result is JSON");
                let _: Value = serde_json::from_str(&report.detail).expect("the detail is JSON");
                return (result, bounds);
            }
        }
    }
}
