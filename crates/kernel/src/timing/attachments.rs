//! Keeps programs attached while they are timed, so that test runs are cheap.

use std::sync::{Arc, Mutex, PoisonError};

use super::error::TimingError;
use super::expedited::Expedited;
use crate::{Device, Link, LoadedProgram, Mode, Namespace};

/// A pool of loopback devices in private network namespaces, to which programs are attached for
/// timing.
///
/// A free device keeps its program until the next one replaces it. Attaching or detaching a program
/// waits for all CPUs twice (`bpf_dispatcher_update` of `kernel/bpf/dispatcher.c`), while replacing
/// it waits once. RCU grace periods are expedited while a program is being attached.
#[derive(Clone, Debug, Default)]
pub struct Attachments {
    free: Arc<Mutex<Vec<Attachment>>>,
}

#[derive(Debug)]
struct Attachment {
    link: Link,
    // A device takes only one program, so each program gets a namespace with its own loopback
    // device.
    _namespace: Namespace,
}

/// The attachment of a program to a device of the pool. Dropping it returns the device to the pool.
#[derive(Debug)]
pub struct Attached {
    attachment: Option<Attachment>,
    attachments: Attachments,
}

impl Attachments {
    /// Attaches an XDP program to a free device of the pool. Programs of other types need no
    /// attachment: their test runs are cheap without it.
    ///
    /// # Errors
    /// If no namespace can be created, or the kernel does not attach the program.
    pub fn attach(&self, program: &LoadedProgram) -> Result<Attached, TimingError> {
        if !program.is_xdp() {
            return Ok(Attached { attachment: None, attachments: self.clone() });
        }
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let _expedited = Expedited::begin();
        let attachment = match free {
            Some(attachment) => {
                attachment.link.replace(program)?;
                attachment
            }
            None => {
                let namespace = Namespace::new()?;
                let link = program.attach(&namespace, Device::LOOPBACK, Mode::Generic)?;
                Attachment { link, _namespace: namespace }
            }
        };
        Ok(Attached { attachment: Some(attachment), attachments: self.clone() })
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let mut free = self.attachments.free.lock().unwrap_or_else(PoisonError::into_inner);
        free.extend(self.attachment.take());
    }
}
