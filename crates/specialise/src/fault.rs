//! Faults that tests inject into the passes. `tests/mutants` of `slowpath-chain` checks that proofs
//! find these faults. The code exists only with the feature `faults`.

/// A fault that tests inject into a pass, into the analysis, or into a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(not(feature = "faults"), expect(dead_code, reason = "those of guards are put in then"))]
pub enum Fault {
    /// Propagated constants are one too large.
    ConstantTooGreat,
    /// A result is replaced by a register only because both have the same kind of value.
    CopyOfAnother,
    /// A branch with a known outcome takes the other edge.
    OtherWay,
    /// A bounds check also lets packets pass that are one byte too short.
    LengthTooLong,
    /// Comparisons are removed even if the kernel's verifier learns from them.
    NothingTaught,
    /// A register is treated as a copy of another one, even after the other one was overwritten.
    StaleCopy,
    /// A constant that does not fit into an immediate is cut off.
    ShortImmediate,
    /// A memory access gets another base register, but its offset is not adjusted.
    OffsetKept,
    /// A copied pointer is replaced by another pointer, without adding the distance between them.
    DistanceForgotten,
    /// Stores to the packet are removed like dead stores.
    PacketStoreDead,
    /// Helpers are treated as if they did not read the stack frame.
    HelpersReadNothing,
    /// The last byte of each read from the stack frame is treated as not read.
    ReadTooShort,
    /// The end of a block is treated as if it read no registers.
    EndReadsNothing,
    /// A block with two predecessors is merged with one of them.
    MergedWithOne,
    /// Jumps bypass a block that contains one instruction, as if it were empty.
    InstructionSkipped,
    /// Jump threading chooses the wrong target.
    WrongTarget,
    /// Jump threading bypasses a block but does not copy its instructions.
    CopyForgotten,
    /// Loops are removed after one iteration, as if no more followed.
    RoundsForgotten,
    /// A merged bounds check requires one byte more than the largest check that it replaces.
    CheckTooLong,
    /// A bounds check is treated as if it proved one byte more than it does.
    CheckedTooMuch,
    /// Known packet content is kept after a store to the packet.
    StoreForgotten,
    /// Known content of the stack frame is kept after a helper has written to it.
    WrittenForgotten,
    /// Known packet content is kept after a helper has moved the packet's start.
    MoveForgotten,
    /// The headroom is treated as one byte larger than it is.
    RoomTooGreat,
    /// The state of only one path is used at a merge of paths.
    OneWayOnly,
    /// The greatest possible value of a field is left out.
    ValueForgotten,
    /// Only the possible values from one path are kept at a merge of paths.
    ValuesOfOneWay,
    /// After a comparison, the values are kept for which it would have the other outcome.
    OtherValuesLeft,
    /// After a comparison of a byte-swapped field, the field itself is treated as equal to the
    /// constant.
    SwapForgotten,
    /// The last comparison of a guard is left out.
    ComparisonDropped,
    /// A comparison of a guard ignores the lowest bit.
    MaskTooSmall,
    /// A comparison of a guard expects the wrong number.
    OtherValue,
    /// A guard accepts packets that are one byte too short.
    GuardTooShort,
    /// The last comparison of a guard is inverted.
    ComparisonInverted,
    /// The facts that a guard checks are already assumed while the checks themselves are rewritten.
    GuardTrusted,
    /// The copy of the original behind a guard lacks its first instruction.
    OriginalCut,
    /// Failed checks jump to the second instruction of the original instead of the first.
    OriginalMissed,
    /// The first entry that a look-up can find is treated as the only one.
    OneEntryOnly,
    /// Key comparisons that replace a look-up never find the last entry of the map.
    EntryForgotten,
    /// Key comparisons that replace a look-up do not compare the last part of the key.
    KeyTooShort,
    /// The guard does not check the generation of the maps.
    GenerationIgnored,
    /// The guard checks only the lowest bit of the maps' generation.
    GenerationCut,
}

#[cfg(feature = "faults")]
mod injected {
    use super::Fault;
    use std::cell::Cell;

    thread_local! {
        static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    /// Calls `run` while a fault is injected on the current thread.
    pub fn with<T>(fault: Fault, run: impl FnOnce() -> T) -> T {
        /// Restores the previous fault when it is dropped, even after a panic.
        struct Back(Option<Fault>);
        impl Drop for Back {
            fn drop(&mut self) {
                FAULT.set(self.0);
            }
        }
        let _back = Back(FAULT.replace(Some(fault)));
        run()
    }

    /// Returns true if this fault is injected on the current thread.
    pub(crate) fn has(fault: Fault) -> bool {
        FAULT.get() == Some(fault)
    }
}

#[cfg(feature = "faults")]
pub(crate) use injected::has;
#[cfg(feature = "faults")]
pub use injected::with;

/// Returns false: no faults can be injected.
#[cfg(not(feature = "faults"))]
pub(crate) const fn has(_: Fault) -> bool {
    false
}
