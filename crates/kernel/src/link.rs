//! A program attached to a device, as long as somebody wants it there.
//!
//! A link is known by its file descriptor only: it goes with the [`Link`], and with the process in
//! whatever way that ends.
//!
//! Besides letting packets through, it makes test runs cheap: one with more than one repetition puts
//! its program into the kernel's dispatcher of XDP programs and takes it out again, which waits for
//! all CPUs (milliseconds), unless the program is there because it is attached
//! (`bpf_prog_change_xdp` of `net/core/filter.c`).

use std::os::fd::{AsFd, OwnedFd};

use crate::error::LinkError;
use crate::sys::{attach_xdp, replace_xdp};
use crate::{Device, Loaded, Namespace};

/// At which point of receiving an attached program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the kernel's own code, after a packet has its `sk_buff`; every device has it.
    Generic,
    /// In the driver, on bare frames; virtual Ethernet has it, the loopback device has not.
    Native,
}

/// A program that is attached to a device until this goes.
#[derive(Debug)]
pub struct Link {
    fd: OwnedFd,
    device: Device,
}

impl Loaded {
    /// Attaches it to a device of a namespace. A device has room for one program.
    ///
    /// # Errors
    /// If the device has a program already, lacks the mode, or is gone.
    pub fn attach(
        &self,
        namespace: &Namespace,
        device: Device,
        mode: Mode,
    ) -> Result<Link, LinkError> {
        // XDP_FLAGS_SKB_MODE and XDP_FLAGS_DRV_MODE of `uapi/linux/if_link.h`.
        let flags = match mode {
            Mode::Generic => 1 << 1,
            Mode::Native => 1 << 2,
        };
        let attached = namespace.enter(|| attach_xdp(self.fd(), device.index(), flags))?;
        attached
            .map(|fd| Link { fd, device })
            .map_err(|cause| LinkError::of(device.index(), cause, mode == Mode::Native))
    }
}

impl Link {
    /// Attaches another program in the place of the one that is.
    ///
    /// # Errors
    /// If the kernel does not take it there.
    pub fn replace(&self, program: &Loaded) -> Result<(), LinkError> {
        let replaced = replace_xdp(self.fd.as_fd(), program.fd());
        replaced.map_err(|cause| LinkError::of(self.device.index(), cause, false))
    }
}
