//! Tests certificates of examples: makes them, checks them, and damages them.

use slowpath::{
    Analysis, CheckedCertificate, Error, Event, Options, Poll, ProgramFile, ProgramRequest, Stop,
    check_certificate,
};
use slowpath_stop::Limits;
use std::path::Path;
use std::time::Duration;

/// Returns a request for an example of the folder `examples`, with the given target.
fn request(name: &str, target: &str) -> ProgramRequest {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let data = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut request = ProgramRequest::of(name, ProgramFile::read(&data).expect("a program"));
    request.options =
        Options { target: target.into(), paths: Some(1), certificate: true, ..Options::default() };
    request
}

/// Analyses a program. Returns its result as JSON, and its certificate.
fn certified(request: &ProgramRequest) -> (serde_json::Value, String) {
    let analysis = Analysis::start(request.clone());
    loop {
        match analysis.next(Duration::from_secs(1)) {
            Poll::Event(Event::Result(report)) => {
                let result = serde_json::from_str(&report.json).expect("valid JSON");
                let certificate = report.certificate.expect("a certificate was requested");
                return (result, certificate.unwrap_or_else(|why| panic!("{why}")));
            }
            Poll::Event(_) | Poll::Pending => {}
            Poll::Finished => panic!("no result"),
        }
    }
}

fn checked(request: &ProgramRequest, certificate: &str) -> Result<CheckedCertificate, Error> {
    check_certificate(request, certificate, &Stop::new(Limits::default()))
}

#[test]
fn certificates_prove_the_results_of_examples() {
    let on_cpu = [
        "alaw2ulaw_opt",
        "count_min.8",
        "ddos_filter",
        "dns_cache",
        "firewall",
        "flow_monitor",
        "header_parser",
        "ipv6_lb",
        "path_explosion",
        "quic_lb",
        "tunnel",
    ];
    for name in on_cpu {
        let request = request(&format!("{name}.bpf.o"), "linux-xdp");
        let (result, certificate) = certified(&request);
        let proved = checked(&request, &certificate).unwrap_or_else(|error| panic!("{error}"));
        let count = result["guarantee"]["counts"]["instructions"].as_f64();
        assert_eq!(Some(proved.bound), count, "{name}");
        assert!(proved.exact && proved.reached == count, "{name}");
    }
    for name in ["alaw2ulaw.bpf.o", "count_min.8.bpf.o", "path_explosion.bpf.o", "size_classes.asm"]
    {
        let request = request(name, "agilio-cx-2x40");
        let (result, certificate) = certified(&request);
        let proved = checked(&request, &certificate).unwrap_or_else(|error| panic!("{error}"));
        assert!(proved.exact, "{name}");
        let cost = result["profile"]["cost"][&proved.component].as_f64();
        assert_eq!(Some(proved.bound), cost, "{name}");
    }
}
