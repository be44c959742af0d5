//! Reads the types of the kernel for which programs are compiled. They are read once and used for
//! any number of analyses.

use crate::Error;
use slowpath_bpf::Btf;
use std::sync::Arc;

/// Types (BTF) of the kernel that programs are compiled for.
#[derive(Clone, Debug)]
pub struct KernelTypes(Arc<Btf>);

impl KernelTypes {
    /// Parses the types of a kernel, in the format of `/sys/kernel/btf/vmlinux`.
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
