use super::*;

fn read(texts: &[&str]) -> Result<PacketFacts, String> {
    let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
    assumed(&texts)
}

#[test]
fn facts_are_written_as_they_are_shown() {
    let facts = read(&[
        "length >= 64",
        "64 to 1500 bytes",
        "bytes 12-13 = 86dd",
        "byte 14 & f0 = 60",
        "byte 20 in {06, 11}",
        "bytes 22-23 = bytes 38-39",
    ])
    .expect("they are facts");
    assert_eq!((facts.min_length, facts.max_length), (64, 1500));
    assert_eq!((facts.byte(12), facts.byte(13)), (Some(0x86), Some(0xdd)));
    assert_eq!(facts.bits[&14], KnownBits { mask: 0xf0, value: 0x60 });
    assert_eq!(facts.values[&Field { offset: 20, bytes: 1 }], BTreeSet::from([6, 0x11]));
    let pair = (Field { offset: 22, bytes: 2 }, Field { offset: 38, bytes: 2 });
    assert_eq!(facts.equal, BTreeSet::from([pair]));
    assert_eq!(read(&[]), Ok(any_packet()));
}

#[test]
fn what_is_no_fact_is_refused_and_the_forms_are_named() {
    for text in [
        "",
        "length",
        "length > 64",
        "length >= 64 bytes",
        "length >= -1",
        "length >= 0x40",
        "byte 12-13 = 86",
        "bytes 12-13 = 86d",
        "bytes 12-13 = 0x86",
        "byte x = 00",
        "bytes 13-12 = 0000",
        "byte 14 & f0 = 0f",
        "byte 14 & 00 = 00",
        "byte 14 & fff0 = 60",
        "bytes 0-8 in {00}",
        "byte 20 in 06",
        "byte 20 in {}",
        "byte 20 in {0600}",
        "bytes 22-23 = bytes 38-40",
        "bytes 22-23 = bytes 22-23",
        "length >= 65535",
        "length >= 60000",
        "99 to 64 bytes",
        "byte 65535 = 00",
    ] {
        let why = read(&[text]).expect_err(text);
        assert!(why.starts_with(&format!("{text:?}: ")), "{why}");
    }
    assert!(read(&["length > 64"]).expect_err("no fact").contains("`length >= N`"));
}

#[test]
fn facts_that_contradict_each_other_are_refused() {
    let why = read(&["byte 12 = 08", "byte 12 = 86"]).expect_err("no packet is like that");
    assert!(why.contains("no packet is like that"), "{why}");
    assert!(read(&["length >= 100", "length <= 99"]).is_err());
}
