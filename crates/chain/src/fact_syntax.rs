//! Parses facts about arriving packets, such as `byte 23 = 06`, from the notation in which users
//! write them. Reports use the same notation.

use crate::facts::any_packet;
use slowpath_ir::{Field, KnownBits, PacketFacts};
use std::collections::BTreeSet;

/// Notations of facts, for error messages.
const FORMS: &str = "write `length >= N`, `length <= N`, `A to B bytes`, `byte N = HEX`, \
                     `bytes A-B = HEX`, `byte N & HEX = HEX`, `bytes A-B in {HEX, HEX}` or \
                     `bytes A-B = bytes C-D`; offsets and lengths are decimal";

/// Parses facts about arriving packets, such as `length >= 60`. Each text states one fact. Returns
/// all facts together.
///
/// # Errors
/// Returns a sentence about the text that cannot be parsed, or that contradicts earlier texts.
pub fn parse_facts(texts: &[String]) -> Result<PacketFacts, String> {
    let mut facts = any_packet();
    let mut read = Vec::new();
    for text in texts {
        let fact = one(text).map_err(|why| format!("{text:?}: {why}"))?;
        let met = facts.meet(&fact).filter(is_possible);
        facts = met.ok_or_else(|| format!("{text:?} contradicts the facts before it"))?;
        read.push((text, end(&fact)));
    }
    let most = facts.max_length;
    match read.into_iter().find(|&(_, end)| end > usize::from(most)) {
        Some((text, end)) => Err(format!(
            "{text:?}: packets have at most {most} bytes, so byte {} does not exist",
            end - 1
        )),
        None => Ok(facts),
    }
}

/// Returns the offset after the last packet byte that the facts are about. It is 0 if they are only
/// about the packet's length.
fn end(fact: &PacketFacts) -> usize {
    let PacketFacts { min_length: _, max_length: _, bits, values, equal } = fact;
    let bits = bits.last_key_value().map(|(&offset, _)| usize::from(offset) + 1);
    let values = values.keys().map(|field| field.end());
    let equal = equal.iter().map(|(first, second)| first.end().max(second.end()));
    bits.into_iter().chain(values).chain(equal).max().unwrap_or(0)
}

/// Returns false if known bits, fields with few values and equal fields contradict each other. Some
/// contradictions are missed, because only known bits are compared between equal fields.
fn is_possible(facts: &PacketFacts) -> bool {
    let mut bits = facts.bits.clone();
    loop {
        let before = bits.clone();
        for (first, second) in &facts.equal {
            for place in 0..u16::from(first.bytes) {
                let (one, other) = (first.offset + place, second.offset + place);
                let Some(both) = together(bits.get(&one), bits.get(&other)) else { return false };
                for (at, known) in [one, other].into_iter().zip([both; 2]) {
                    bits.extend(known.map(|known| (at, known)));
                }
            }
        }
        if bits == before {
            break;
        }
    }
    let fits = |field: &Field, value: u64| {
        let bytes = value.to_be_bytes();
        let own = &bytes[bytes.len().saturating_sub(field.bytes.into())..];
        let is = |(at, &byte): (u16, &u8)| bits.get(&at).is_none_or(|known| known.holds(byte));
        (field.offset..).zip(own).all(is)
    };
    facts.values.iter().all(|(field, values)| values.iter().any(|&value| fits(field, value)))
}

/// Combines the known bits of two packet bytes that are equal. The outer `None` means that the bits
/// contradict each other. The inner `None` means that no bits are known.
fn together(one: Option<&KnownBits>, other: Option<&KnownBits>) -> Option<Option<KnownBits>> {
    let (Some(&one), Some(&other)) = (one, other) else {
        return Some(one.or(other).copied());
    };
    let both = KnownBits { mask: one.mask | other.mask, value: one.value | other.value };
    (one.holds(both.value) && other.holds(both.value)).then_some(Some(both))
}

fn one(text: &str) -> Result<PacketFacts, String> {
    let mut facts = PacketFacts::lengths(0, u16::MAX);
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        ["length", relation, number] => {
            let number = length(number)?;
            match relation {
                ">=" => facts.min_length = number,
                "<=" => facts.max_length = number,
                "=" => (facts.min_length, facts.max_length) = (number, number),
                _ => return Err(FORMS.to_owned()),
            }
        }
        [min, "to", max, "bytes"] => {
            (facts.min_length, facts.max_length) = (length(min)?, length(max)?);
        }
        ["byte" | "bytes", range, "=", of @ ("byte" | "bytes"), other] => {
            let _ = of;
            let (first, second) = (field(range)?, field(other)?);
            if first.bytes != second.bytes || first.offset == second.offset {
                return Err("the two fields must differ and have equal length".to_owned());
            }
            facts.equal.insert((first.min(second), first.max(second)));
        }
        ["byte" | "bytes", range, "=", value] => {
            let (first, last) = ends(range)?;
            let bytes = hexadecimal(value)?;
            if bytes.len() != usize::from(last - first) + 1 {
                let count = last - first + 1;
                return Err(format!(
                    "{value} is not a value of {count} bytes; write two digits for \
                    each"
                ));
            }
            facts.bits = (first..=last).zip(bytes.into_iter().map(KnownBits::all)).collect();
        }
        ["byte", offset, "&", mask, "=", value] => {
            let (mask, value) = (hexadecimal(mask)?, hexadecimal(value)?);
            let ([mask], [value]) = (&mask[..], &value[..]) else {
                return Err("mask and value must have two digits each".to_owned());
            };
            let bits = KnownBits::of(*mask, *value).filter(|bits| bits.value == *value);
            let bits =
                bits.ok_or("the mask must include all bits of the value, and at least one")?;
            facts.bits.insert(decimal(offset)?, bits);
        }
        ["byte" | "bytes", range, "in", ..] => {
            let field = field(range)?;
            let list = text.split_once(" in ").map_or("", |(_, list)| list).trim();
            let list = list.strip_prefix('{').and_then(|list| list.strip_suffix('}'));
            let list = list.ok_or_else(|| FORMS.to_owned())?;
            let mut values = BTreeSet::new();
            for value in list.split(',') {
                let bytes = hexadecimal(value.trim())?;
                if bytes.len() != usize::from(field.bytes) {
                    return Err(format!("{} needs two digits for each byte", value.trim()));
                }
                values.insert(bytes.iter().fold(0, |all, &byte| all << 8 | u64::from(byte)));
            }
            facts.values.insert(field, values);
        }
        _ => return Err(FORMS.to_owned()),
    }
    if facts.min_length > facts.max_length {
        return Err("the first length must not exceed the second".to_owned());
    }
    Ok(facts)
}

/// Parses the decimal offset of a packet byte. It must be less than the maximum packet length.
fn decimal(text: &str) -> Result<u16, String> {
    number(text, u16::MAX - 1)
}

fn length(text: &str) -> Result<u16, String> {
    number(text, u16::MAX)
}

fn number(text: &str, most: u16) -> Result<u16, String> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|&number: &u16| digits && number <= most);
    number.ok_or_else(|| format!("{text:?} is not a number from 0 to {most}; {FORMS}"))
}

/// Parses a range of bytes, such as `12` or `12-13`. Returns the offsets of its first and last
/// byte.
fn ends(range: &str) -> Result<(u16, u16), String> {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    let (first, last) = (decimal(first)?, decimal(last)?);
    if last < first {
        return Err(format!("bytes {range}: the first must not be after the last"));
    }
    Ok((first, last))
}

fn field(range: &str) -> Result<Field, String> {
    let (offset, last) = ends(range)?;
    let bytes = u8::try_from(last - offset + 1).ok().filter(|&bytes| bytes <= 8);
    let bytes = bytes.ok_or_else(|| format!("bytes {range}: a field has 8 bytes at most"))?;
    Ok(Field { offset, bytes })
}

fn hexadecimal(text: &str) -> Result<Vec<u8>, String> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let byte = |&[high, low]: &[u8; 2]| Some(digit(high)? << 4 | digit(low)?);
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    bytes.filter(|bytes| rest.is_empty() && !bytes.is_empty()).ok_or_else(|| {
        format!("{text:?} is not a value: write two hexadecimal digits for each byte; {FORMS}")
    })
}

#[cfg(test)]
mod tests;
