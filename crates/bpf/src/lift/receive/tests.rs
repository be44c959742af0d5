use super::*;

#[test]
fn joined_environments_cover_both() {
    let received = PacketEnvironment { head_room: (216, 216), metadata: (0, 0) };
    let other = PacketEnvironment { head_room: (184, 200), metadata: (4, 8) };
    let either = PacketEnvironment { head_room: (184, 216), metadata: (0, 8) };
    assert_eq!((received.join(other), other.join(received)), (either, either));
    assert_eq!(either.join(PacketEnvironment::ANY), PacketEnvironment::ANY);
}

#[test]
fn metadata_is_whole_words() {
    let of = |metadata| PacketEnvironment { metadata, ..PacketEnvironment::ANY }.words();
    assert_eq!((of((0, 0)), of((4, 8)), of((0, 252))), ((0, 0), (1, 2), (0, 63)));
    assert_eq!(of((5, 1000)), (2, 63));
}

#[test]
fn any_device_covers_each_environment() {
    let any = Receive::ANY;
    let inside = |a: (u16, u16), b: (u16, u16)| a.0 >= b.0 && a.1 <= b.1;
    assert_eq!(ENVIRONMENTS[0].receive, any);
    for known in ENVIRONMENTS {
        let Receive { length, head, metadata, .. } = known.receive;
        assert!(inside(length, any.length) && inside(head, any.head), "{}", known.name);
        assert!(inside(metadata, any.metadata), "{}", known.name);
        assert_eq!(Receive::parse(known.name), Ok(known.receive));
        assert_eq!(known.receive.condition(known.name).is_none(), known.receive == any);
    }
}

#[test]
fn environments_are_named_or_written_as_numbers() {
    let written = Receive::parse("head=0..216,tail=0..3520,meta=0..32,length=60..3736").unwrap();
    assert_eq!(
        written.packet_environment(),
        PacketEnvironment { head_room: (0, 216), metadata: (0, 32) }
    );
    assert_eq!((written.length, written.tail), ((60, 3736), TailRoom::Bytes(0, 3520)));
    assert!(written.fragments);
    let veth = Receive::named("veth").unwrap();
    assert_eq!(Receive::parse("veth, length=60"), Ok(veth.with_length(60, 60)));
}

#[test]
fn invalid_environments_are_rejected() {
    for (text, part) in [
        ("native", "native-page"),
        ("", "write any"),
        ("length=60,veth", "is not a receiving environment"),
        ("room=3", "write head, tail, meta, length or pieces"),
        ("meta=0..256", "both at most 252"),
        ("head=9..3", "the least before the greatest"),
        ("head=some", "write a number of bytes"),
        ("head=0..8,meta=12..16", "do not fit"),
        ("pieces=2", "pieces=1"),
    ] {
        let error = Receive::parse(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn conditions_describe_only_restrictions() {
    let of = |text: &str| Receive::parse(text).unwrap().condition(text);
    assert_eq!(of("any"), None);
    assert_eq!(of("length=0..1500").unwrap(), "packets are at most 1500 bytes long");
    assert_eq!(
        of("native-page").unwrap(),
        "packets arrive as native-page delivers them: 14 to 1514 bytes long, 216 bytes of head room, \
         no metadata, a driver that supports metadata, 3736 bytes for head room, packet and tail \
         room together, one piece"
    );
    assert_eq!(
        of("veth,meta=4..8").unwrap(),
        "packets arrive with: at most 3522 bytes long, 4 to 8 bytes of metadata, a driver that \
         supports metadata, one piece"
    );
}
