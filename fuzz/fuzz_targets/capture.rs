//! Fuzzes the reader of capture files (pcap and pcapng). Every input yields packets whose bytes
//! come from the input, and then either the end or one error of one line. After an error, no
//! packets follow.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use slowpath_capture::{Capture, CaptureError};

/// Minimum number of file bytes per packet. Each packet takes at least one pcapng block, which
/// stores its length twice, in 4 bytes each.
const LEAST: usize = 8;

fn one_line(error: &CaptureError) {
    let text = error.to_string();
    assert!(!text.is_empty() && text.lines().count() == 1, "{text:?}");
}

fuzz_target!(|input: &[u8]| {
    let mut capture = match Capture::new(Box::new(Cursor::new(input.to_vec()))) {
        Ok(capture) => capture,
        Err(error) => return one_line(&error),
    };
    let (mut count, mut bytes) = (0, 0);
    loop {
        match capture.next_packet() {
            Ok(Some(packet)) => {
                count += 1;
                bytes += packet.bytes.len();
                assert!(packet.wire_length >= packet.bytes.len());
                assert_eq!(capture.packets(), count as u64);
                assert!(bytes <= input.len() && count <= input.len() / LEAST);
            }
            Ok(None) => break,
            Err(error) => {
                one_line(&error);
                break;
            }
        }
    }
    assert!(matches!(capture.next_packet(), Ok(None)));
    assert_eq!(capture.packets(), count as u64);
});
