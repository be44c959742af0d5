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

/// Returns a random number below `end`, from a small generator (xorshift).
fn below(state: &mut u64, end: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % end.max(1) as u64) as usize
}

/// Changes one random number, text, element or key of a JSON value.
fn damage(value: &mut serde_json::Value, random: &mut u64) {
    use serde_json::Value;
    match value {
        Value::Object(fields) => {
            let at = below(random, fields.len());
            let Some(key) = fields.keys().nth(at).cloned() else { return };
            match below(random, 12) {
                0 => drop(fields.remove(&key)),
                _ => damage(&mut fields[&key], random),
            }
        }
        Value::Array(items) if items.is_empty() => items.push(1.into()),
        Value::Array(items) => {
            let at = below(random, items.len());
            match below(random, 10) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, items[at].clone()),
                2 => items.swap(at, 0),
                _ => damage(&mut items[at], random),
            }
        }
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or(0);
            let changes = [number + 1, number - 1, -number, 0, number ^ 16, i64::from(u32::MAX)];
            *value = changes[below(random, changes.len())].into();
        }
        Value::String(text) => {
            let at = below(random, text.len());
            let digits = ["0", "1", "7", "f", "g", ""];
            if text.is_char_boundary(at) && at < text.len() {
                text.replace_range(at..=at, digits[below(random, digits.len())]);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[test]
fn damaged_certificates_prove_nothing_false() {
    let programs = [
        ("firewall.bpf.o", "linux-xdp"),
        ("ddos_filter.bpf.o", "linux-xdp"),
        ("path_explosion.bpf.o", "linux-xdp"),
        ("size_classes.asm", "agilio-cx-2x40"),
    ];
    let mut random = 0x9e37_79b9_7f4a_7c15;
    let mut refused = 0;
    for (name, target) in programs {
        let request = request(name, target);
        let (_, certificate) = certified(&request);
        let original = checked(&request, &certificate).unwrap_or_else(|error| panic!("{error}"));
        let text: serde_json::Value = serde_json::from_str(&certificate).expect("valid JSON");
        for _ in 0..slowpath_oracle::random_cases(25u32) {
            let mut damaged = text.clone();
            for _ in 0..=below(&mut random, 2) {
                damage(&mut damaged, &mut random);
            }
            match checked(&request, &damaged.to_string()) {
                Err(error) => {
                    assert_eq!(error.code().to_string(), "SP0510", "{error}");
                    refused += 1;
                }
                // The change may be without effect, such as a bit that no condition reads. The
                // claims must then still be true.
                Ok(proved) => {
                    assert_eq!(proved.component, original.component);
                    assert!(proved.bound >= original.bound, "{damaged}");
                    assert!(proved.reached <= original.reached, "{damaged}");
                }
            }
        }
    }
    assert!(refused > 50, "{refused} refused");
}

/// Returns the certificate of an example with a bound, of which `change` changes the claims.
fn forged(
    request: &ProgramRequest,
    change: impl FnOnce(&mut slowpath_certificate::Certificate),
) -> String {
    let (_, certificate) = certified(request);
    let mut claims = serde_json::from_str(&certificate).expect("a certificate");
    change(&mut claims);
    serde_json::to_string(&claims).expect("JSON")
}

#[test]
fn false_claims_are_refused() {
    use slowpath_certificate::{BoundClaim, lrat::Step};
    let request = request("path_explosion.bpf.o", "linux-xdp");
    let bound = |ticks| Some(BoundClaim { component: 0, ticks, length: 64 });
    let refused = |certificate: String, reason: &str| {
        let error = checked(&request, &certificate).expect_err("a false claim").to_string();
        assert!(error.contains(reason), "{error}");
    };
    // A bound below the slowest path, with and without the witness.
    refused(forged(&request, |claims| claims.bound = bound(370)), "the witness is above the bound");
    let without_witness = |claims: &mut slowpath_certificate::Certificate| {
        (claims.bound, claims.witness) = (bound(370), None);
    };
    refused(forged(&request, without_witness), "contains no nogood");
    refused(forged(&request, |claims| claims.witness = None), "neither a bound nor a witness");
    // Each nogood is needed.
    refused(forged(&request, |claims| drop(claims.nogoods.pop())), "contains no nogood");
    // A solver that finds a contradiction where there is none: a branch is missing in the nogood.
    let general = |claims: &mut slowpath_certificate::Certificate| {
        claims.nogoods[0].arcs.pop();
    };
    refused(forged(&request, general), "nogood 1: step");
    // A proof that claims more than follows.
    let short = |claims: &mut slowpath_certificate::Certificate| {
        claims.nogoods[3].proof = vec![Step(vec![], vec![1])];
    };
    refused(forged(&request, short), "nogood 4: step 1: no clause becomes false");
    let none = |claims: &mut slowpath_certificate::Certificate| claims.nogoods[5].proof.clear();
    refused(forged(&request, none), "nogood 6: the last step is not the empty clause");
    // A path that is no path, and one that no packet takes.
    let gap = |claims: &mut slowpath_certificate::Certificate| {
        let witness = claims.witness.as_mut().expect("a witness");
        witness.path.remove(3);
    };
    refused(forged(&request, gap), "does not continue the path");
    let other = |claims: &mut slowpath_certificate::Certificate| {
        let witness = claims.witness.as_mut().expect("a witness");
        witness.assignment = "f".repeat(witness.assignment.len());
    };
    refused(forged(&request, other), "the assignment does not satisfy clause");
    let long = |claims: &mut slowpath_certificate::Certificate| {
        claims.witness.as_mut().expect("a witness").length = 1 << 20;
    };
    refused(forged(&request, long), "no packet has");
    refused("{}".into(), "the certificate is damaged");
}

#[test]
fn certificates_hold_only_for_their_programs() {
    let (_, certificate) = certified(&request("firewall.bpf.o", "linux-xdp"));
    for name in ["ddos_filter.bpf.o", "tunnel.bpf.o", "dns_cache.bpf.o"] {
        assert!(checked(&request(name, "linux-xdp"), &certificate).is_err(), "{name}");
    }
}

#[test]
fn conditions_of_certificates_include_those_of_results() {
    let mut request = request("flow_monitor.bpf.o", "linux-xdp");
    request.options.receive = Some("native-page".into());
    let (result, certificate) = certified(&request);
    let proved = checked(&request, &certificate).unwrap_or_else(|error| panic!("{error}"));
    let assumptions = result["assumptions"].as_array().expect("a list");
    assert!(!assumptions.is_empty());
    for sentence in assumptions {
        let known = proved.assumptions.iter().any(|own| Some(own.as_str()) == sentence.as_str());
        assert!(known, "{sentence} is not among {:?}", proved.assumptions);
    }
}

#[test]
fn a_search_without_a_path_has_a_certificate_of_its_bound() {
    let mut request = request("path_explosion.bpf.o", "ebpf");
    // The search ends with its first bound, because the caller wants no path.
    request.options.paths = Some(0);
    let (result, certificate) = certified(&request);
    assert_eq!(result["guarantee"]["verdict"], "bound");
    let proved = checked(&request, &certificate).unwrap_or_else(|error| panic!("{error}"));
    assert!(!proved.exact);
    assert_eq!(Some(proved.bound), result["guarantee"]["counts"]["instructions"].as_f64());
}

/// Checks that a nogood for packets below a length that does not fit the input of the length has no
/// contradiction: the length must not lose its upper bits.
#[test]
fn lengths_beyond_the_input_are_no_contradiction() {
    use slowpath_certificate::{BoundClaim, NogoodProof, lrat::Step};
    let request = request("impossible_pair.asm", "agilio-cx-2x40");
    let certificate = forged(&request, |claims| {
        claims.bound = Some(BoundClaim { component: 0, ticks: 1, length: 60 });
        claims.witness = None;
        let proof = vec![Step(vec![], vec![1, 2])];
        claims.nogoods = vec![NogoodProof { arcs: vec![0], below: Some(16385), proof }];
    });
    assert!(checked(&request, &certificate).is_err());
}
