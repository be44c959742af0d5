use super::*;
use slowpath_bpf::lift::PacketEnvironment;
use slowpath_ir::PacketFacts;

const HEAD: i32 = helper::XDP_ADJUST_HEAD;
const TAIL: i32 = helper::XDP_ADJUST_TAIL;
const META: i32 = helper::XDP_ADJUST_META;

/// Returns the abstract position of packets with the given ranges of length, headroom and metadata
/// length, and the range of their lengths.
fn packets(
    (low, high): (i64, i64),
    environment: Option<PacketEnvironment>,
) -> (PacketPosition, Range) {
    let page = environment
        .map_or(Receive::PAGE, |environment| Receive::PAGE.with_packet_environment(environment));
    packets_of((low, high), page)
}

/// Returns the abstract position of packets that the driver delivers in the way `receive`, and the
/// range of their lengths.
fn packets_of((low, high): (i64, i64), receive: Receive) -> (PacketPosition, Range) {
    let facts = PacketFacts::lengths(0, 0);
    let inputs = AnalysisInputs {
        facts: &facts,
        constants: Vec::new(),
        frozen: None,
        receive,
        contiguous: true,
    };
    (PacketPosition::arrived(&inputs, Range(low, high)), Range(low, high))
}

fn environment(head_room: (u16, u16), metadata: (u16, u16)) -> Option<PacketEnvironment> {
    Some(PacketEnvironment { head_room, metadata })
}

/// Returns true if the helper `called` certainly succeeds in moving the start or the end of the
/// packets by `by` bytes.
#[track_caller]
fn moves((placed, length): (PacketPosition, Range), called: i32, by: i64) -> bool {
    placed.moved(called, Range(by, by), length).expect("it moves an end").succeeds
}

#[test]
fn the_head_moves_as_far_as_there_is_room_for_sure() {
    let received = packets((60, 1500), None);
    assert!(moves(received, HEAD, -216) && !moves(received, HEAD, -217));
    let behind = packets((60, 1500), environment((184, 200), (0, 0)));
    assert!(moves(behind, HEAD, -184) && !moves(behind, HEAD, -185));
    let with_metadata = packets((60, 1500), environment((184, 184), (4, 8)));
    assert!(moves(with_metadata, HEAD, -176) && !moves(with_metadata, HEAD, -177));
    let any = packets((60, 1500), Some(PacketEnvironment::ANY));
    assert!(!moves(any, HEAD, -1) && moves(any, HEAD, 0), "metadata is in the room");
}

#[test]
fn the_head_leaves_an_ethernet_header() {
    for packets in [packets((60, 1500), None), packets((60, 1500), Some(PacketEnvironment::ANY))] {
        assert!(moves(packets, HEAD, 46) && !moves(packets, HEAD, 47));
    }
}

#[test]
fn the_tail_moves_within_the_page() {
    let received = packets((60, 1500), None);
    let tail = 4096 - 256 - 320;
    assert!(moves(received, TAIL, tail - 1500) && !moves(received, TAIL, tail - 1499));
    assert!(moves(received, TAIL, -46) && !moves(received, TAIL, -47));
    // Packets that do not fit in a page with their headroom cannot be shortened either.
    assert!(!moves(packets((60, tail + 216), None), TAIL, -1));
    // On a device with more headroom, packets have at least as much tailroom.
    let behind = packets((60, 1500), environment((0, 0), (0, 0)));
    assert!(moves(behind, TAIL, tail - 1500) && !moves(behind, TAIL, tail - 1499));
    let any = packets((60, 1500), Some(PacketEnvironment::ANY));
    assert!(moves(any, TAIL, -46) && !moves(any, TAIL, 1));
}

#[test]
fn metadata_is_words_in_the_room() {
    let received = packets((60, 1500), None);
    assert!(moves(received, META, -8) && !moves(received, META, -6));
    assert!(!moves(received, META, 4) && moves(received, META, -216));
    assert!(!moves(received, META, -220), "there is no more room");
    // The analysis does not rely on existing metadata.
    assert!(!moves(packets((60, 1500), environment((216, 216), (8, 8))), META, 4));
    assert!(!moves(packets((60, 1500), Some(PacketEnvironment::ANY)), META, -4));
}

#[test]
fn what_was_moved_is_somewhere_else() {
    let (placed, length) = packets((60, 1500), None);
    let moved = placed.moved(HEAD, Range(-200, -200), length).expect("it moves");
    assert_eq!((moved.placed.start, moved.length), (Range(16, 16), Range(260, 1700)));
    assert!(moves((moved.placed, moved.length), HEAD, -16));
    assert!(!moves((moved.placed, moved.length), HEAD, -17));
    let again = placed.moved(META, Range(-8, -8), length).expect("it moves");
    assert!(!moves((again.placed, length), HEAD, -209), "metadata moves along");
    assert!(moves((again.placed, length), META, 8));
}

#[test]
fn what_perhaps_was_moved_is_in_either_place() {
    let (placed, length) = packets((60, 1500), environment((8, 216), (0, 0)));
    let moved = placed.moved(HEAD, Range(-32, -32), length).expect("it moves");
    assert!(!moved.succeeds);
    assert_eq!((moved.placed.start, moved.length), (Range(0, 216), Range(60, 1532)));
}

/// Checks that, on an unknown device, a move that needs space around the packet is not known to
/// succeed, unless the program itself has made this space.
#[test]
fn growth_may_fail_on_any_device() {
    let any = packets_of((0, 65535), Receive::ANY);
    for (called, by) in [(HEAD, -1), (TAIL, 1), (META, -4), (HEAD, 1), (TAIL, -1)] {
        assert!(!moves(any, called, by), "{called} {by}");
    }
    let long = packets_of((60, 65535), Receive::ANY);
    assert!(moves(long, HEAD, 46) && moves(long, TAIL, -46) && !moves(long, TAIL, 1));
    let (placed, length) = long;
    let cut = placed.moved(HEAD, Range(40, 40), length).expect("it moves");
    assert!(cut.succeeds);
    // The call has removed bytes from the packet, but metadata may lie there. So the analysis does
    // not count these bytes as headroom.
    assert!(!moves((cut.placed, cut.length), HEAD, -40));
    let bare = packets_of((60, 65535), Receive { metadata: (0, 0), ..Receive::ANY });
    let cut = bare.0.moved(HEAD, Range(40, 40), bare.1).expect("it moves");
    assert!(moves((cut.placed, cut.length), HEAD, -40));
    assert!(!moves((cut.placed, cut.length), HEAD, -41));
}
