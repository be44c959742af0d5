//! Builds the BTF types of a written object: the original types, with the changes that writing
//! requires.

use std::collections::HashMap;

use crate::btf::{FuncLinkage, IntType, Kind, RawMember, SecVar, TypeId, VarLinkage};
use crate::{Btf, Object};

/// The types of a written object under construction. Original types keep their numbers.
#[derive(Debug)]
pub(super) struct Types<'a> {
    pub original: Option<&'a Btf>,
    pub btf: Btf,
    int: Option<TypeId>,
}

impl<'a> Types<'a> {
    /// Copies the types of the object except its sections, which are written anew. Drops external
    /// variables and makes external functions global, because the kernel rejects external ones.
    pub fn new(object: &'a Object) -> Self {
        let original = object.btf.as_ref();
        let mut btf = original.cloned().unwrap_or_else(Btf::empty);
        let mut dropped = Vec::new();
        for (id, ty) in original.iter().flat_map(|btf| btf.types()) {
            match &ty.kind {
                Kind::DataSec { .. } | Kind::Var { linkage: VarLinkage::Extern, .. } => {
                    dropped.push(id);
                }
                Kind::Func { proto, linkage: FuncLinkage::Extern } => {
                    let kind = Kind::Func { proto: *proto, linkage: FuncLinkage::Global };
                    btf.kind_mut(id).into_iter().for_each(|of| *of = kind.clone());
                }
                Kind::DeclTag { ty, .. } if dropped.contains(ty) => dropped.push(id),
                _ => {}
            }
        }
        // A tag can precede the declaration that it refers to.
        let tags =
            original.iter().flat_map(|btf| btf.types()).filter_map(|(id, ty)| match ty.kind {
                Kind::DeclTag { ty, .. } if dropped.contains(&ty) => Some(id),
                _ => None,
            });
        let tags: Vec<TypeId> = tags.collect();
        dropped.iter().chain(&tags).for_each(|id| btf.drop_type(*id));
        Types { original, btf, int: None }
    }

    /// Returns true if the table has no types except `void`.
    pub fn is_empty(&self) -> bool {
        self.btf.types().nth(1).is_none()
    }

    /// Returns the type `int`.
    pub fn int(&mut self) -> TypeId {
        if let Some(int) = self.int {
            return int;
        }
        let ty = IntType { size: 4, bits: 32, offset: 0, signed: true, char: false, bool: false };
        let known = self.original.and_then(|btf| btf.find("int", |kind| *kind == Kind::Int(ty)));
        let int = known.unwrap_or_else(|| self.btf.add("int", Kind::Int(ty)));
        self.int = Some(int);
        int
    }

    /// Returns the type `unsigned long long`.
    pub fn long(&mut self) -> TypeId {
        let name = "unsigned long long";
        let ty = IntType { size: 8, bits: 64, offset: 0, signed: false, char: false, bool: false };
        let known = self.original.and_then(|btf| btf.find(name, |kind| *kind == Kind::Int(ty)));
        known.unwrap_or_else(|| self.btf.add(name, Kind::Int(ty)))
    }

    pub fn pointer(&mut self, to: TypeId) -> TypeId {
        self.btf.add("", Kind::Ptr(to))
    }

    /// Creates `int (*)[len]`, the encoding of a number in map definitions.
    pub fn number(&mut self, len: u32) -> TypeId {
        let array = self.array(len, None);
        self.pointer(array)
    }

    /// Creates the type of an array with `len` elements of type `element`, or of `int` if `element`
    /// is `None`.
    pub fn array(&mut self, len: u32, element: Option<TypeId>) -> TypeId {
        let index = self.int();
        self.btf.add("", Kind::Array { element: element.unwrap_or(index), index, len })
    }

    /// Creates the type of an unnamed structure. Its members have these names and types; each is a
    /// pointer.
    pub fn structure(&mut self, size: u32, members: &[(&str, TypeId)]) -> TypeId {
        let mut raw = Vec::with_capacity(members.len());
        for (place, (name, ty)) in members.iter().enumerate() {
            let (name, bit_offset) = (self.btf.add_string(name), place as u32 * 64);
            raw.push(RawMember { name, ty: *ty, bit_offset, bitfield: 0 });
        }
        self.btf.add("", Kind::Struct { size, members: raw })
    }

    /// Creates the prototype `void (void)`.
    pub fn procedure(&mut self) -> TypeId {
        self.btf.add("", Kind::FuncProto { ret: TypeId::VOID, params: Vec::new() })
    }

    /// Returns the BTF number of a global variable with this name and type. Reuses the variable
    /// `known` if it has this name and type, otherwise adds a new one.
    pub fn variable(&mut self, name: &str, ty: TypeId, known: Option<TypeId>) -> TypeId {
        let wanted = Kind::Var { ty, linkage: VarLinkage::Global };
        let same = |id: &TypeId| *self.btf.kind(*id) == wanted && self.btf.type_name(*id) == name;
        known.filter(same).unwrap_or_else(|| self.btf.add(name, wanted))
    }

    /// Adds a data section (`BTF_KIND_DATASEC`) with these variables, which must be sorted by
    /// offset.
    pub fn section(&mut self, name: &str, size: u32, vars: Vec<SecVar>) {
        self.btf.add(name, Kind::DataSec { size, vars });
    }

    /// Returns the type of a function with this name; `known` is its type in the original object. A
    /// function without such a type gets no parameters and an integer result.
    pub fn function(&mut self, name: &str, known: Option<TypeId>, global: bool) -> TypeId {
        let proto = known.and_then(|id| match self.btf.kind(id) {
            Kind::Func { proto, .. } => Some(*proto),
            _ => None,
        });
        let linkage = if global { FuncLinkage::Global } else { FuncLinkage::Static };
        let proto = proto.unwrap_or_else(|| {
            let ret = self.int();
            self.btf.add("", Kind::FuncProto { ret, params: Vec::new() })
        });
        let wanted = Kind::Func { proto, linkage };
        let same = |id: &TypeId| *self.btf.kind(*id) == wanted && self.btf.type_name(*id) == name;
        if let Some(id) = known.filter(same) {
            return id;
        }
        let id = self.btf.add(name, wanted);
        let tags: Vec<(String, i32)> = known.map_or_else(Vec::new, |of| self.tags(of));
        for (text, component) in tags {
            self.btf.add(&text, Kind::DeclTag { ty: id, component });
        }
        id
    }

    /// Returns the declaration tags of a function and its parameters. Each has its text and its
    /// component index, which is the index of the parameter with the tag, or -1 for the function.
    fn tags(&self, function: TypeId) -> Vec<(String, i32)> {
        let tag = |(id, ty): (TypeId, &crate::btf::Type)| match ty.kind {
            Kind::DeclTag { ty, component } if ty == function => {
                Some((self.btf.type_name(id).to_owned(), component))
            }
            _ => None,
        };
        self.btf.types().filter_map(tag).collect()
    }

    /// Adds the section that declares kernel functions. Fails with the name of a function that the
    /// object does not declare.
    pub fn kernel_functions<'n>(&mut self, names: &[&'n str]) -> Result<(), &'n str> {
        let is_extern =
            |kind: &Kind| matches!(kind, Kind::Func { linkage: FuncLinkage::Extern, .. });
        let mut vars = Vec::new();
        for &name in names {
            let id = self.original.and_then(|btf| btf.find(name, is_extern)).ok_or(name)?;
            if let Some(Kind::Func { linkage, .. }) = self.btf.kind_mut(id) {
                *linkage = FuncLinkage::Extern;
            }
            vars.push(SecVar { ty: id, offset: 0, size: 0 });
        }
        if !vars.is_empty() {
            self.section(".ksyms", 0, vars);
        }
        Ok(())
    }

    /// Returns the variables of the sections named `name` in the original types, one list for each
    /// section.
    pub fn original_sections(&self, name: &str) -> Vec<&'a [SecVar]> {
        let Some(btf) = self.original else { return Vec::new() };
        let variables = |(id, ty): (TypeId, &'a crate::btf::Type)| match &ty.kind {
            Kind::DataSec { vars, .. } if btf.type_name(id) == name => Some(vars.as_slice()),
            _ => None,
        };
        btf.types().filter_map(variables).collect()
    }
}

/// Returns a closure that looks up the type of a function in the original object: first by section
/// and slot, then by name.
pub(super) fn function_types(object: &Object) -> impl Fn(&str, usize, &str) -> Option<TypeId> {
    let mut by_name: HashMap<&str, TypeId> = HashMap::new();
    for (id, ty) in object.btf.iter().flat_map(|btf| btf.types()) {
        if let (Kind::Func { .. }, Some(btf)) = (&ty.kind, &object.btf) {
            by_name.entry(btf.string(ty.name)).or_insert(id);
        }
    }
    move |section, slot, name| {
        let by_position = object.ext.as_ref().and_then(|ext| ext.function_type(section, slot));
        let is = |id: &TypeId| object.btf.as_ref().is_some_and(|btf| btf.type_name(*id) == name);
        by_position.filter(is).or_else(|| by_name.get(name).copied())
    }
}
