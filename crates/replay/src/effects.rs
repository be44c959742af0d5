//! Lists the changes that a run made in the kernel, so that they can be undone.

use std::collections::BTreeSet;

use serde::{Serialize, Serializer};
use slowpath_bpf::lift::MapLayout;
use slowpath_bpf::{Access, Field};
use slowpath_exec::concrete::Run;

use crate::choices::Agreed;
use crate::elements::is_readable;
use crate::outcome::{Moved, Outcome, digits};
use crate::pair::{Pair, hex};

/// Changes that a run made to the packet and to maps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Effects {
    /// Changed bytes of the original packet, including bytes that the program cut off.
    pub packet: Vec<PacketChange>,
    /// Distances in bytes by which the run moved the packet's start and end.
    pub moved: Moved,
    /// Map elements that were changed, inserted or deleted.
    pub maps: Vec<MapChange>,
    /// Changes that the run made or may have made, but that no system call can read back.
    pub unreadable: Vec<Unreadable>,
    /// Fields of `struct __sk_buff` that the run changed and that programs can set, each with its
    /// number before the run. Empty for programs other than tc programs.
    #[serde(skip)]
    pub fields: Vec<(&'static str, u64)>,
}

impl Effects {
    /// Returns true if the run made no change, and cannot have made a change that is unreadable.
    pub fn is_empty(&self) -> bool {
        *self == Effects::default()
    }
}

/// A range of consecutive bytes of the packet that a run changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PacketChange {
    /// Offset of the first byte from the start of the original packet.
    pub offset: usize,
    /// Content of the changed bytes before the run, serialised as hexadecimal digits.
    #[serde(serialize_with = "digits")]
    pub before: Vec<u8>,
    /// Content of the changed bytes after the run, serialised as hexadecimal digits.
    #[serde(serialize_with = "digits")]
    pub after: Vec<u8>,
}

/// A map element that was changed, inserted or deleted. For a per-CPU map, this is only the value
/// on the CPU that ran the program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapChange {
    /// Name of the map; for a map inside a map of maps, `OUTER.inner`.
    pub map: String,
    /// Number of the changed map if it is an inner map of a map of maps; `None` for other maps. See
    /// [`Replay::changed_map`](crate::Replay::changed_map).
    pub inner: Option<usize>,
    /// Key of the element, serialised as hexadecimal digits.
    #[serde(serialize_with = "digits")]
    pub key: Vec<u8>,
    /// Value of the element before the run; `None` if it did not exist.
    #[serde(serialize_with = "optional_digits")]
    pub before: Option<Vec<u8>>,
    /// Value of the element after the run; `None` if it does not exist.
    #[serde(serialize_with = "optional_digits")]
    pub after: Option<Vec<u8>>,
}

/// A change that a helper made or may have made, and that cannot be read back from the kernel.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Unreadable {
    /// Name of the helper that makes the change, without `bpf_`.
    pub call: String,
    /// Names of the maps that the helper may have changed: all maps of the type that it changes.
    /// Empty if it does not change maps.
    pub maps: Vec<String>,
}

fn optional_digits<S: Serializer>(
    bytes: &Option<Vec<u8>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    bytes.as_deref().map(hex).serialize(serializer)
}

/// Helpers whose changes cannot be read back from the kernel, each with the type of the maps that
/// it changes. An empty type stands for changes outside of maps. `None` means that the type is the
/// last part of the call's cost class, which has the form `call.HELPER.TYPE`.
const CALLS: [(&str, Option<&str>); 10] = [
    ("ringbuf_output", Some("ringbuf")),
    ("ringbuf_reserve", Some("ringbuf")),
    ("ringbuf_submit", Some("ringbuf")),
    ("ringbuf_discard", Some("ringbuf")),
    ("perf_event_output", Some("perf_event_array")),
    ("map_push_elem", None),
    ("map_pop_elem", None),
    ("map_update_elem", None),
    ("map_delete_elem", None),
    ("trace_printk", Some("")),
];

impl Pair {
    /// Returns the changes that a run made to packet and maps. Must be called before
    /// [`Pair::commit`].
    pub fn effects(&self, packet: &[u8], kernel: &Outcome, agreed: &Agreed) -> Effects {
        let moved = self.moved(&agreed.run, packet.len());
        let maps = &self.lifted.layout.maps;
        let changed = agreed.touched.iter().filter(|element| element.before != element.kernel);
        let change = |element: &crate::elements::Touched| {
            let layout = &maps[element.map];
            MapChange {
                map: layout.name.clone(),
                inner: element
                    .map_address
                    .and_then(|map_address| self.inner_map_number(layout, map_address)),
                key: element.key.clone(),
                before: element.before.clone(),
                after: element.kernel.clone(),
            }
        };
        Effects {
            packet: self.changed_bytes(packet, kernel, &agreed.run, moved.head),
            moved,
            maps: changed.map(change).collect(),
            unreadable: self.unreadable(agreed),
            fields: self.changed_fields(&agreed.run),
        }
    }

    /// Returns the fields of `struct __sk_buff` that a run changed and that programs can set.
    fn changed_fields(&self, run: &Run) -> Vec<(&'static str, u64)> {
        let layout = &self.lifted.layout;
        let is_settable = |field: &&Field| {
            let set = matches!(
                field.access,
                Access::Stores(_) | Access::StoresQueue | Access::WholeStores | Access::Bytes
            );
            layout.program_type.length().is_some() && (set || field.name == "pkt_type")
        };
        let changed = |field: &'static Field| {
            let before = self.environment.inputs.get(&self.input(field.name)?).copied()?;
            let byte = |n| {
                let at = field.offset + u64::from(n);
                u64::from(self.byte(Some(run), (layout.context, at))) << (8 * n)
            };
            let after = (0..field.bytes).map(byte).sum::<u64>();
            (before != after).then_some((field.name, before))
        };
        layout.program_type.fields.iter().filter(is_settable).filter_map(changed).collect()
    }

    /// Returns the bytes of the packet that a run changed. Their new values come from the kernel's
    /// packet; for bytes that the program cut off, they come from the interpreter.
    fn changed_bytes(
        &self,
        packet: &[u8],
        kernel: &Outcome,
        run: &Run,
        head: i64,
    ) -> Vec<PacketChange> {
        let written = run.written.iter().filter(|(at, _)| at.0 == self.lifted.layout.packet);
        let inside = |(&(_, offset), &byte): (&(_, u64), &u8)| {
            let offset = usize::try_from(offset).ok().filter(|&offset| offset < packet.len())?;
            let now = usize::try_from(offset as i64 - head).ok();
            let now = now.and_then(|at| kernel.packet.get(at).copied()).unwrap_or(byte);
            (now != packet[offset]).then_some((offset, now))
        };
        let changed: BTreeSet<(usize, u8)> = written.filter_map(inside).collect();
        let mut changes: Vec<PacketChange> = Vec::new();
        for (offset, now) in changed {
            match changes.last_mut() {
                Some(last) if last.offset + last.after.len() == offset => {
                    last.before.push(packet[offset]);
                    last.after.push(now);
                }
                _ => {
                    let (before, after) = (vec![packet[offset]], vec![now]);
                    changes.push(PacketChange { offset, before, after });
                }
            }
        }
        changes
    }

    /// Returns the changes that cannot be read back from the kernel. They are derived from the
    /// helpers that the run called.
    fn unreadable(&self, agreed: &Agreed) -> Vec<Unreadable> {
        let lifted = &self.lifted;
        let classes: BTreeSet<_> = agreed.run.costs.iter().map(|event| event.class.0).collect();
        let mut found = BTreeSet::new();
        for class in classes {
            let name = lifted.program.cost_classes.get(class as usize).map_or("", String::as_str);
            let Some(called) = name.strip_prefix("call.") else { continue };
            let (call, kind) = called.split_once('.').unwrap_or((called, ""));
            let known = CALLS.iter().find(|(known, _)| *known == call);
            let Some(kind) = known.map(|(_, of)| of.unwrap_or(kind)) else { continue };
            let changed =
                |layout: &&MapLayout| layout.kind.to_string() == kind && !is_readable(layout.kind);
            let maps = lifted.layout.maps.iter().filter(changed);
            let maps: Vec<String> = maps.map(|layout| layout.name.clone()).collect();
            if !maps.is_empty() || kind.is_empty() {
                found.insert(Unreadable { call: call.to_owned(), maps });
            }
        }
        // An insertion may evict another element.
        for element in agreed.touched.iter().filter(|element| element.before.is_none()) {
            let layout = &lifted.layout.maps[element.map];
            if self.may_evict(layout) {
                let maps = vec![layout.name.clone()];
                found.insert(Unreadable { call: "map_update_elem".to_owned(), maps });
            }
        }
        found.into_iter().collect()
    }
}
