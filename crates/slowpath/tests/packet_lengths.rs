//! The packets that a guarantee is for: as long as the target says, or as an option says.

use crate::common;

use common::{object, of_object, options};
use serde_json::Value;
use slowpath::{Error, Options, ProgramFile, ProgramRequest, Stop, Target, target_text, verify};

/// Program `headers` of `objects/loops.bpf.c`: a round for every 16 bytes of the packet.
const HEADERS: usize = 3;

/// A built-in target, but for the length of its longest packet.
fn with_longest(name: &str, bytes: u32) -> Target {
    let text = target_text(name).expect("it is built in");
    let changed = text.replace("max_size_bytes = 1500", &format!("max_size_bytes = {bytes}"));
    assert!(bytes == 1500 || changed != text);
    Target::parse("other.toml", changed)
}

fn analysed(target: Target, mtu: Option<u16>) -> Value {
    of_object("loops.bpf.o", HEADERS, Options { target, mtu, ..options() })
}

/// The most instructions of the program.
fn instructions(target: Target, mtu: Option<u16>) -> u64 {
    let result = analysed(target, mtu);
    assert_eq!(result["error"], Value::Null);
    assert_eq!(result["guarantee"]["exact"], true);
    result["guarantee"]["counts"]["instructions"].as_u64().expect("a count")
}

#[test]
fn a_guarantee_is_for_the_packets_of_the_target() {
    let shown = [320, 1500, 9000].map(|bytes| instructions(with_longest("ebpf", bytes), None));
    let [short, usual, long] = shown;
    assert!(short < usual && usual < long, "{shown:?}");
    assert_eq!(usual, instructions("ebpf".into(), None));
    assert_eq!(with_longest("ebpf", 9000).max_packet(), Some(9000));
}

#[test]
fn an_option_overrides_the_target() {
    let long = with_longest("ebpf", 9000);
    assert_eq!(instructions(long.clone(), Some(1500)), instructions("ebpf".into(), None));
    assert_eq!(instructions("ebpf".into(), Some(9000)), instructions(long, None));
}

#[test]
fn packets_that_are_too_long_are_refused() {
    let long = with_longest("ebpf", 20_000);
    let error = analysed(long.clone(), None)["error"].clone();
    let expected = "`max_size_bytes = 20000` without --mtu: packets on ebpf have 14 to 16383 bytes";
    assert_eq!(error, expected);
    assert_eq!(instructions(long, Some(1500)), instructions("ebpf".into(), None));
}

#[test]
fn proofs_are_for_the_same_packets() {
    let read = ProgramFile::read(&object("../../../../examples/count_min.1.bpf.o"));
    let options = |mtu| {
        let target = with_longest("agilio-cx-2x40", 20_000);
        Options { target, mtu, ..options() }
    };
    let request = ProgramRequest::of("count_min.1.bpf.o", read.expect("an object"));
    let proof =
        |mtu| verify(&ProgramRequest { options: options(mtu), ..request.clone() }, &Stop::never());
    assert!(matches!(proof(None), Err(Error::Option(text)) if text.contains("60 to 16383")));
    assert!(proof(Some(9000)).is_ok_and(|found| found.proved));
}
