//! Tests for which packet lengths a guarantee holds. The target or an option sets these lengths.

use crate::common;

use common::{example, of_object, options};
use serde_json::Value;
use slowpath::{Error, Options, ProgramFile, ProgramRequest, Stop, Target, target_text, verify};

/// Index of program `headers` of `objects/loops.bpf.c`. Its loop has one iteration per 16 bytes of
/// the packet.
const HEADERS: usize = 3;

/// Returns a built-in target with a different maximum packet length.
fn with_max_packet(name: &str, bytes: u32) -> Target {
    let text = target_text(name).expect("it is built in");
    let max_packet = format!("max_size_bytes = {bytes}");
    let changed = text.replace("max_size_bytes = 1500", &max_packet);
    let changed = changed.replace("max_size_bytes = 65535", &max_packet);
    assert_ne!(changed, text);
    Target::parse("other.toml", changed)
}

fn analysed(target: Target, mtu: Option<u16>) -> Value {
    of_object("loops.bpf.o", HEADERS, Options { target, mtu, ..options() })
}

/// Returns the guaranteed maximum number of instructions of program `headers`, for packets of at
/// most `mtu` bytes.
fn instructions(mtu: Option<u16>) -> u64 {
    let result = analysed("ebpf".into(), mtu);
    assert_eq!(result["error"], Value::Null);
    assert_ne!(result["guarantee"]["verdict"], "bound");
    result["guarantee"]["counts"]["instructions"].as_u64().expect("a count")
}

#[test]
fn counts_grow_with_the_maximum_packet_length() {
    let counts = [Some(320), Some(1500), Some(9000), None].map(instructions);
    assert!(counts.is_sorted() && counts[0] < counts[2], "{counts:?}");
    // The target's packet length applies only without `--mtu`.
    let long = analysed(with_max_packet("ebpf", 20_000), Some(1500));
    assert_eq!(long["guarantee"], analysed("ebpf".into(), Some(1500))["guarantee"]);
}

/// Checks that a maximum packet length is listed as an assumption of the guarantee, because some
/// devices accept longer packets.
#[test]
fn a_maximum_length_is_a_condition() {
    let result = analysed("ebpf".into(), Some(1500));
    assert_eq!(result["guarantee"]["verdict"], "conditional");
    assert_eq!(result["assumptions"], serde_json::json!(["packets are at most 1500 bytes long"]));
    assert_eq!(analysed("ebpf".into(), None)["guarantee"]["verdict"], "exact");
}

#[test]
fn lengths_that_cannot_arrive_are_refused() {
    let error_of = |receive: &str, mtu| {
        let options = Options { receive: Some(receive.into()), mtu, ..options() };
        let options = Options { target: "ebpf".into(), ..options };
        of_object("loops.bpf.o", HEADERS, options)["error"].clone()
    };
    let error = error_of("native-page", Some(9000));
    let expected =
        "--mtu 9000: packets that arrive as native-page delivers them have 14 to 3520 bytes";
    assert_eq!(error, expected);
    let error = error_of("native", None).to_string();
    assert!(error.contains("native-page"), "{error}");
    let card = Options { receive: Some("any".into()), ..options() };
    let on_card = Options { target: "agilio-cx-2x40".into(), ..card };
    let error = of_object("loops.bpf.o", HEADERS, on_card)["error"].to_string();
    assert!(error.contains("where the firmware determines how"), "{error}");
}

#[test]
fn proofs_cover_the_same_lengths() {
    let read = ProgramFile::read(&example("count_min.1.bpf.o"));
    let options = |mtu| {
        let target = with_max_packet("agilio-cx-2x40", 20_000);
        Options { target, mtu, ..options() }
    };
    let request = ProgramRequest::of("count_min.1.bpf.o", read.expect("an object"));
    let proof =
        |mtu| verify(&ProgramRequest { options: options(mtu), ..request.clone() }, &Stop::never());
    assert!(matches!(proof(None), Err(Error::Option(_, text)) if text.contains("60 to 16383")));
    assert!(proof(Some(9000)).is_ok_and(|found| found.proved));
}
