//! Computes the number that a relocation stands for, from the object's types or from the kernel's
//! types.

use super::kind::RelocationKind;
use super::spec::Spec;
use crate::Btf;
use crate::btf::{Kind, TypeId};

/// The number that a relocation stands for, with the data needed to check and adapt the
/// instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub number: u64,
    /// True if the instruction in the object file must already contain the number that follows from
    /// the object's own types.
    pub checked: bool,
    /// Type and size in bytes of a field whose offset is the value; `None` for bit fields and for
    /// values other than offsets.
    pub field: Option<(TypeId, u32)>,
}

impl Value {
    fn new(number: u64) -> Self {
        Value { number, checked: true, field: None }
    }
}

/// Computes the number that a relocation stands for. `spec` is the path through the types of `btf`;
/// `None` if the types do not have the path.
pub(super) fn of(
    btf: &Btf,
    kind: RelocationKind,
    spec: Option<&Spec>,
) -> Result<Value, &'static str> {
    use RelocationKind::*;
    match (kind, spec) {
        (FieldExists | TypeExists | TypeMatches | EnumvalExists, spec) => {
            Ok(Value::new(spec.is_some().into()))
        }
        (TypeIdTarget | TypeSize, None) => Ok(Value { checked: false, ..Value::new(0) }),
        (_, None) => Err("the kernel has no type or field of this name"),
        (TypeIdLocal | TypeIdTarget, Some(spec)) => {
            Ok(Value { checked: kind == TypeIdLocal, ..Value::new(spec.root.0.into()) })
        }
        (TypeSize, Some(spec)) => {
            btf.size(spec.root).map(|size| Value::new(size.into())).ok_or("a type without size")
        }
        (EnumvalValue, Some(spec)) => {
            let accessor = spec.accessors.last().ok_or("no constant")?;
            let Kind::Enum(e) = btf.kind(accessor.ty) else { return Err("no enumeration") };
            let variant = e.variants.get(accessor.index as usize).ok_or("no constant")?;
            Ok(Value::new(variant.value))
        }
        (_, Some(spec)) => field(btf, kind, spec),
    }
}

fn field(btf: &Btf, kind: RelocationKind, spec: &Spec) -> Result<Value, &'static str> {
    use RelocationKind::*;
    const NO_SIZE: &str = "a field without size";
    let Some(member) = spec.last_member(btf) else {
        let ty = spec.accessors.last().ok_or("no field")?.ty;
        return match kind {
            FieldByteOffset => {
                let field = btf.size(ty).map(|size| (ty, size));
                Ok(Value { field, ..Value::new(spec.bit_offset / 8) })
            }
            FieldByteSize => Ok(Value::new(btf.size(ty).ok_or(NO_SIZE)?.into())),
            _ => Err("only fields have signs and shifts"),
        };
    };
    let ty = btf.resolve(member.ty);
    if kind == FieldSigned {
        let signed = match btf.kind(ty) {
            Kind::Int(int) => int.signed,
            Kind::Enum(e) => e.signed,
            _ => false,
        };
        return Ok(Value::new(signed.into()));
    }
    let bitfield = member.bitfield > 0;
    let size = btf.size(ty);
    // Flexible arrays and incomplete types have an offset but no size.
    let mut bytes = match (size, kind) {
        (Some(size), _) => u64::from(size),
        (None, FieldByteOffset) if !bitfield => 0,
        (None, _) => return Err(NO_SIZE),
    };
    let (mut offset, mut bits) = (spec.bit_offset / 8, bytes * 8);
    if bitfield {
        bits = member.bitfield.into();
        if !bytes.is_power_of_two() {
            return Err("a bit field of an odd size");
        }
        offset = offset / bytes * bytes;
        while spec.bit_offset + bits > (offset + bytes) * 8 {
            if bytes >= 8 {
                return Err("a bit field that a single load cannot read");
            }
            bytes *= 2;
            offset = spec.bit_offset / 8 / bytes * bytes;
        }
    }
    let checked = !bitfield;
    match kind {
        FieldByteOffset => {
            let field = size.filter(|_| !bitfield).map(|size| (member.ty, size));
            Ok(Value { number: offset, checked, field })
        }
        FieldByteSize => Ok(Value { checked, ..Value::new(bytes) }),
        // Distance in bits from the end of the field to the top of the 64-bit register that a
        // little-endian load fills.
        FieldShiftLeft => {
            let end = spec.bit_offset + bits - offset * 8;
            let number = 64u64.checked_sub(end).ok_or("a field of more than 8 bytes")?;
            Ok(Value { checked, ..Value::new(number) })
        }
        _ => Ok(Value::new(64u64.checked_sub(bits).ok_or("a field of more than 8 bytes")?)),
    }
}

/// Sizes of a field in the object and in the kernel, in bytes, if they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub local: u32,
    pub kernel: u32,
    /// True if the instruction keeps its meaning when its access size is changed to the kernel's
    /// size.
    pub adaptable: bool,
}

pub(super) fn sizes(
    local: &Btf,
    original: &Value,
    kernel: &Btf,
    resolved: &Value,
) -> Option<Sizes> {
    let ((a, local_size), (b, kernel_size)) = (original.field?, resolved.field?);
    if local_size == kernel_size {
        return None;
    }
    let adaptable = match (local.kind(local.resolve(a)), kernel.kind(kernel.resolve(b))) {
        (Kind::Ptr(_), Kind::Ptr(_)) => true,
        (Kind::Int(x), Kind::Int(y)) => !x.signed && !y.signed,
        _ => false,
    };
    Some(Sizes { local: local_size, kernel: kernel_size, adaptable })
}
