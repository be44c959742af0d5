//! Indices into the tables of a [`Program`](crate::Program), one type each.

/// Declares the type of an index into a table: 32 bits, so that it costs no more than the number,
/// and no index into one table is taken for one into another. For every crate that numbers things.
#[macro_export]
macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// The index as a `usize`, for table look-ups.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            /// # Panics
            /// When the table has more than 2^32 entries.
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
    /// What a value that the program draws is called in reports.
    DrawId
);
index_type!(
    /// Something that a run can rely on without it being certain.
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
