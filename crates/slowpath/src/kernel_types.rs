//! Types of the kernel that programs are compiled for, read once for any number of analyses.

use crate::Error;
use slowpath_bpf::Btf;
use std::sync::Arc;

/// Types (BTF) of the kernel that programs are compiled for.
#[derive(Clone, Debug)]
pub struct KernelTypes(Arc<Btf>);

impl KernelTypes {
    /// Parses types in the format of `/sys/kernel/btf/vmlinux`.
    ///
    /// # Errors
    /// If the data is malformed.
    pub fn parse(data: &[u8]) -> Result<KernelTypes, Error> {
        Ok(KernelTypes(Arc::new(Btf::parse(data)?)))
    }

    pub(crate) fn btf(&self) -> &Btf {
        &self.0
    }

    /// Returns a shared reference to the types.
    pub fn shared(&self) -> Arc<Btf> {
        Arc::clone(&self.0)
    }
}
