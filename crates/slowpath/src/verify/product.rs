//! The product of the BPF program and its compiled version for the SmartNIC (the card). Both are
//! executed over the same terms, with the same packet and the same contents of maps.
//!
//! A program for the card accesses the packet through 32-bit addresses and array elements through
//! 40-bit addresses. In the card's memory, array elements may be closer together than in the
//! kernel's (`MapLayout::element_bits`). The memory addresses of the two programs are arbitrary and
//! independent.

use super::preconditions;
use crate::Error;
use slowpath_bpf::lift::{self, Keying, Layout, MapLayout, Receive};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_codes as codes;
use slowpath_exec::{InitialByte, Start};
use slowpath_ir::{InputId, InputKind, Program, RegionId};
use slowpath_nfp::{Listing, firmware};
use slowpath_product::{FixedDraws, Path, PathEnumerator, Side};
use slowpath_smt::{ArrayId, Domain, TermId, TermPool};
use slowpath_stop::Stop;
use std::rc::Rc;

/// Address of the packet in the SmartNIC's memory that is used when programs are run in the
/// interpreter.
pub(super) const CARD_ADDRESS: u64 = 0x0100_0000 + firmware::INITIAL_HEAD_OFFSET as u64;
/// Width of addresses of array elements on the SmartNIC, in bits.
const DRAM_WIDTH: u8 = 40;

/// Prepares a program for symbolic execution from the state `start`.
fn side(program: Program, start: Start) -> Result<Side, Error> {
    Side::new(program, start).map_err(|error| Error::Input(error.code(), error.to_string()))
}

/// Memory regions of the compiled program for the SmartNIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct CardRegions {
    pub packet: RegionId,
    pub context: RegionId,
    pub result: RegionId,
    pub array: RegionId,
}

/// Distances in bytes between elements of the array map, in both memories. Each distance is a power
/// of two, stored as its base-2 logarithm.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spacing {
    /// Base-2 logarithm of the distance between elements in the memory of the BPF program.
    pub bpf: u8,
    /// Base-2 logarithm of the distance between elements in the memory of the SmartNIC; at most as
    /// large as `bpf`.
    pub card: u8,
}

impl Spacing {
    fn of(map: &MapLayout) -> Result<Self, Error> {
        let too_large = || {
            Error::Input(codes::NOT_VERIFIABLE, format!("values of map {} are too large", map.name))
        };
        let size = map.value_size.checked_next_power_of_two().ok_or_else(too_large)?;
        let card = size.trailing_zeros() as u8;
        Ok(Spacing { bpf: map.element_bits.max(card), card })
    }

    /// Converts an offset in the SmartNIC's array to an offset in the BPF program's array.
    fn bpf_offset_of(self, pool: &mut TermPool, offset: TermId) -> TermId {
        let number = pool.extract(offset, self.card, DRAM_WIDTH - self.card);
        let number = append_zeros(pool, number, self.bpf - self.card);
        let place = append_low_bits(pool, number, offset, self.card);
        pool.zext(place, 64)
    }

    /// Converts an offset in the BPF program's array to an offset in the SmartNIC's array.
    fn card_offset_of(self, pool: &mut TermPool, offset: TermId) -> TermId {
        let number = pool.extract(offset, self.bpf, DRAM_WIDTH - self.card);
        append_low_bits(pool, number, offset, self.card)
    }

    /// Converts a known offset in the BPF program's array to an offset in the SmartNIC's array,
    /// like [`card_offset_of`](Self::card_offset_of) does for terms.
    pub fn narrow_number(self, offset: u64) -> u64 {
        let inside = offset & ((1 << self.card) - 1);
        (offset >> self.bpf) << self.card | inside
    }
}

/// Appends `zeros` zero bits behind the lowest bit of the term `high`.
fn append_zeros(pool: &mut TermPool, high: TermId, zeros: u8) -> TermId {
    if zeros == 0 {
        return high;
    }
    let zeros = pool.constant(zeros, 0);
    pool.concat(high, zeros)
}

/// Appends the lowest `bits` bits of `low` behind the lowest bit of `high`.
fn append_low_bits(pool: &mut TermPool, high: TermId, low: TermId, bits: u8) -> TermId {
    if bits == 0 {
        return high;
    }
    let low = pool.extract(low, 0, bits);
    pool.concat(high, low)
}

/// Kind of memory that both programs can change and whose final content is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Area {
    Packet,
    Array,
}

/// The BPF program and its compiled version for the SmartNIC (the card). The BPF program's executor
/// owns the term pool, except while the card's program executes
/// ([`swap_terms`](Product::swap_terms)).
pub(super) struct Product {
    pub bpf: Side,
    pub card: Side,
    pub layout: Layout,
    pub regions: CardRegions,
    pub spacing: Option<Spacing>,
}

impl Product {
    pub fn new(
        object: &Object,
        linked: &BpfProgram,
        listing: &Listing,
        packets: (u16, u16),
        stop: &Stop,
    ) -> Result<Self, Error> {
        let refused = |code, error: &dyn std::fmt::Display| Error::Input(code, error.to_string());
        let options = lift::LiftOptions {
            receive: Receive::PAGE.with_length(packets.0, packets.1),
            ..Default::default()
        };
        let lifted = lift::lift(object, linked, &options).map_err(|e| refused(e.code(), &e))?;
        let options = slowpath_nfp::LiftOptions {
            min_packet: packets.0,
            max_packet: packets.1,
            stores_result: true,
        };
        let card = slowpath_nfp::lift(listing, &linked.name, &options)
            .map_err(|e| refused(e.code(), &e))?;
        let layout = lifted.layout;
        let map = match &layout.maps[..] {
            [] => None,
            [map] if map.keying == Keying::Index && map.present.is_none() => Some(map),
            _ => {
                return Err(Error::Input(
                    codes::NOT_VERIFIABLE,
                    "--verify supports only programs with one array".into(),
                ));
            }
        };
        let spacing = map.map(Spacing::of).transpose()?;
        let regions = regions(&card)?;
        let mut bpf = side(lifted.program, Start::default())?;
        let mut start = Start { pool: std::mem::take(&mut bpf.executor.pool), ..Start::default() };
        if let (Some(length), Some(input)) = (bpf.executor.packet_length(), card.packet_length) {
            let width = card.inputs[input.index()].width;
            let length = start.pool.extract(length, 0, width);
            start.inputs.insert(input, length);
        }
        if preconditions::moves_head(linked) {
            place_in_buffer(&card, regions.packet, &mut start);
        }
        let packet = bpf.executor.array(layout.packet);
        start.initial.insert(regions.packet, packet_byte(packet));
        if let (Some(map), Some(spacing)) = (map, spacing) {
            let values = bpf.executor.array(map.values);
            start.initial.insert(regions.array, array_byte(values, spacing));
        }
        let mut card = side(card, start)?;
        card.executor.pool.set_stop(stop.clone());
        std::mem::swap(&mut bpf.executor.pool, &mut card.executor.pool);
        Ok(Product { bpf, card, layout, regions, spacing })
    }

    /// Moves the term pool, which both programs share, from the executor that holds it to the
    /// executor of the other program.
    pub fn swap_terms(&mut self) {
        std::mem::swap(&mut self.bpf.executor.pool, &mut self.card.executor.pool);
    }

    /// Returns an enumeration of the SmartNIC program's paths that packets of the BPF path `path`
    /// can take. Also returns the random numbers of `path`; the SmartNIC's program must draw the
    /// same numbers.
    pub fn compatible_card_paths(&mut self, path: &Path) -> (PathEnumerator, FixedDraws) {
        let pool = &mut self.bpf.executor.pool;
        // The card draws 32 bits at a time.
        let draws = path
            .draws
            .iter()
            .map(|&drawn| if pool.width(drawn) > 32 { pool.extract(drawn, 0, 32) } else { drawn });
        let draws = FixedDraws(draws.collect());
        self.swap_terms();
        let paths = PathEnumerator::following(&self.card, self.inputs(), path);
        self.swap_terms();
        (paths, draws)
    }

    pub fn inputs(&self) -> Vec<TermId> {
        self.bpf.executor.inputs().iter().chain(self.card.executor.inputs()).copied().collect()
    }

    /// Returns the memory region with the element values of the BPF program's array; `None` if it
    /// has no array.
    pub fn values(&self) -> Option<RegionId> {
        self.layout.maps.first().map(|map| map.values)
    }

    /// Converts an offset in the SmartNIC's memory to an offset in the BPF program's memory.
    pub fn bpf_offset_of(&mut self, area: Area, offset: TermId) -> TermId {
        let pool = &mut self.bpf.executor.pool;
        match (area, self.spacing) {
            (Area::Array, Some(spacing)) => spacing.bpf_offset_of(pool, offset),
            _ => pool.sext(offset, 64),
        }
    }

    /// Converts an offset in the BPF program's memory to an offset in the SmartNIC's memory.
    pub fn card_offset_of(&mut self, area: Area, offset: TermId) -> TermId {
        let pool = &mut self.bpf.executor.pool;
        match (area, self.spacing) {
            (Area::Array, Some(spacing)) => spacing.card_offset_of(pool, offset),
            _ => pool.extract(offset, 0, 32),
        }
    }
}

/// Fixes the low half of the packet's address on the SmartNIC, which is its position in the buffer.
/// This is needed if the program can move the packet's start, because the position limits such
/// moves.
fn place_in_buffer(card: &Program, packet: RegionId, start: &mut Start) {
    let inputs = card.inputs.iter();
    let found = inputs.enumerate().find(|(_, i)| i.kind == InputKind::BaseAddress(packet));
    let Some((index, input)) = found else { return };
    let (least, greatest) = (input.min >> 16, (input.max >> 16).saturating_sub(1));
    let buffer = start.pool.var("buffer of the packet", Domain::range(16, least, greatest));
    let place = start.pool.constant(16, firmware::INITIAL_HEAD_OFFSET.into());
    let address = start.pool.concat(buffer, place);
    start.inputs.insert(InputId::from(index), address);
}

fn packet_byte(packet: ArrayId) -> InitialByte {
    Rc::new(move |pool, offset| {
        let offset = pool.sext(offset, 64);
        pool.select(packet, offset)
    })
}

fn array_byte(values: ArrayId, spacing: Spacing) -> InitialByte {
    Rc::new(move |pool, offset| {
        let offset = spacing.bpf_offset_of(pool, offset);
        pool.select(values, offset)
    })
}

fn regions(card: &Program) -> Result<CardRegions, Error> {
    let region = |name: &str| {
        let found = card.regions.iter().position(|region| region.name == name);
        let found = found.map(RegionId::from);
        found.ok_or_else(|| Error::Panic(format!("a program for the card has no {name}")))
    };
    Ok(CardRegions {
        packet: region("packet")?,
        context: region("context")?,
        result: region("result")?,
        array: region("dram")?,
    })
}
