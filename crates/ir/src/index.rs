//! Indices into the tables of a [`Program`](crate::Program), one type each.

/// Declares a newtype for indices into one table. The index has 32 bits, and an index into one
/// table cannot be used for another. All crates of the workspace use it.
#[macro_export]
macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the index as a `usize`, for table look-ups.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            /// # Panics
            /// If the table has more than 2^32 entries.
            fn from(value: usize) -> Self {
                $name(u32::try_from(value).expect("table index fits in 32 bits"))
            }
        }
    };
}

index_type!(
    /// An instruction of the original program (its number in the listing or object).
    InsnIdx
);
index_type!(
    /// A virtual register.
    Reg
);
index_type!(
    /// A basic block.
    BlockId
);
index_type!(
    /// An unknown of the environment: packet length, base addresses, uninitialised registers.
    InputId
);
index_type!(
    /// The name of a drawn value in reports.
    DrawId
);
index_type!(
    /// A condition that a run can rely on without being certain of it.
    RelianceId
);
index_type!(
    /// A memory region.
    RegionId
);
index_type!(
    /// A cost class, priced by the target.
    CostClassId
);
index_type!(
    /// A loop of the control-flow graph.
    LoopId
);
