//! Defines the index types for the tables of a [`Program`](crate::Program), one type for each
//! table.

/// Declares a 32-bit index type for one table, so that the compiler rejects its use with other
/// tables. All crates of the workspace use this macro.
#[macro_export]
macro_rules! index_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl $name {
            /// Returns the index as a `usize`, for table look-ups.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<usize> for $name {
            /// Converts a position in the table to an index.
            ///
            /// # Panics
            /// Panics if the position does not fit in 32 bits.
            fn from(value: usize) -> Self {
                $name(u32::try_from(value).expect("table index fits in 32 bits"))
            }
        }
    };
}

index_type!(
    /// Number of an instruction of the original program, in its listing or object.
    InsnIdx
);
index_type!(
    /// Number of a virtual register.
    Reg
);
index_type!(
    /// Number of a basic block.
    BlockId
);
index_type!(
    /// Number of an input: an unknown value of the environment, such as the packet length, a base
    /// address or an uninitialised register.
    InputId
);
index_type!(
    /// Number of an entry in [`Program::draws`](crate::Program::draws), which describes a value
    /// that a program draws, such as a time.
    DrawId
);
index_type!(
    /// Number of an assumption that a run can rely on although it is not certain to hold.
    RelianceId
);
index_type!(
    /// Number of a memory region.
    RegionId
);
index_type!(
    /// Number of a cost class: a kind of work to which the cost model of a target assigns a price.
    CostClassId
);
index_type!(
    /// Number of a loop of the control-flow graph.
    LoopId
);
