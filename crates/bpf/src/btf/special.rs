//! Finds the fields of map values that only the kernel may access, such as locks and timers.
//!
//! The kernel skips these fields when it copies a value from or to user space, and shows zeros in
//! their place (`copy_map_value` and `check_and_init_map_value` of `include/linux/bpf.h`). Source
//! of the list of types: `btf_get_field_type` of `kernel/bpf/btf.c`.

use std::ops::Range;

use super::{Btf, Kind, TypeId};

/// Names of the structures that only the kernel reads and writes.
const STRUCTURES: [&str; 10] = [
    "bpf_spin_lock",
    "bpf_res_spin_lock",
    "bpf_timer",
    "bpf_wq",
    "bpf_task_work",
    "bpf_list_head",
    "bpf_list_node",
    "bpf_rb_root",
    "bpf_rb_node",
    "bpf_refcount",
];

/// Type tags of pointers that only `bpf_kptr_xchg` writes or that the kernel translates.
const POINTERS: [&str; 4] = ["kptr", "kptr_untrusted", "percpu_kptr", "uptr"];

/// Maximum nesting of types; the kernel's limit is 32 as well.
const DEPTH: u32 = 32;

/// Maximum number of special fields in one type; the kernel's limit is 11 (`BTF_FIELDS_MAX`).
const FIELDS: usize = 64;

/// Maximum number of members and array elements that one search visits.
const BUDGET: u32 = 1 << 16;

impl Btf {
    /// Returns the byte ranges of the special fields in a value of a type, sorted by offset. Only
    /// the kernel may access these fields, such as locks and timers.
    pub fn special_fields(&self, ty: TypeId) -> Vec<Range<u32>> {
        let mut fields = Vec::new();
        let mut budget = BUDGET;
        self.collect_special(ty, 0, DEPTH, &mut budget, &mut fields);
        fields.sort_unstable_by_key(|field| field.start);
        fields
    }

    fn collect_special(
        &self,
        ty: TypeId,
        offset: u32,
        depth: u32,
        budget: &mut u32,
        fields: &mut Vec<Range<u32>>,
    ) {
        let (Some(depth), Some(left)) = (depth.checked_sub(1), budget.checked_sub(1)) else {
            return;
        };
        *budget = left;
        if fields.len() >= FIELDS {
            return;
        }
        let ty = self.resolve(ty);
        let Some(end) = self.size(ty).and_then(|size| offset.checked_add(size)) else { return };
        match self.kind(ty) {
            Kind::Struct { .. } if STRUCTURES.contains(&self.type_name(ty)) => {
                fields.push(offset..end);
            }
            Kind::Struct { members, .. } | Kind::Union { members, .. } => {
                for member in members.iter().filter(|member| member.bitfield == 0) {
                    let Some(offset) = offset.checked_add(member.bit_offset / 8) else { return };
                    self.collect_special(member.ty, offset, depth, budget, fields);
                }
            }
            Kind::Ptr(to) if self.is_special_pointer(*to) => fields.push(offset..end),
            Kind::Array { element, len, .. } => {
                let before = fields.len();
                self.collect_special(*element, offset, depth, budget, fields);
                if fields.len() == before {
                    return;
                }
                let Some(size) = self.size(*element) else { return };
                for index in 1..*len {
                    let start = index.checked_mul(size).and_then(|o| offset.checked_add(o));
                    let Some(start) = start.filter(|_| fields.len() < FIELDS) else { return };
                    self.collect_special(*element, start, depth, budget, fields);
                }
            }
            _ => {}
        }
    }

    /// Returns true if `to` has a type tag in [`POINTERS`], which means that only the kernel may
    /// access a pointer to this type. Looks through qualifiers such as `const` and other tags.
    fn is_special_pointer(&self, mut to: TypeId) -> bool {
        for _ in 0..DEPTH {
            match self.kind(to) {
                Kind::TypeTag(_) if POINTERS.contains(&self.type_name(to)) => return true,
                Kind::TypeTag(next)
                | Kind::Const(next)
                | Kind::Volatile(next)
                | Kind::Restrict(next) => to = *next,
                _ => return false,
            }
        }
        false
    }
}
