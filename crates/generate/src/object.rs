//! Writes programs as BPF objects in the format that compilers used before BTF. Functions are in
//! section `xdp`, maps are structures in section `maps`, and loads of map addresses have
//! relocations.

use object::write::{Object, Relocation, SectionId, Symbol, SymbolId, SymbolSection};
use object::{
    Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind, SymbolFlags, SymbolKind,
    SymbolScope,
};
use slowpath_bpf::insn::{Imm64, Insn, encode};

use crate::statement::MapShape;

/// Map type `BPF_MAP_TYPE_ARRAY`.
const ARRAY: u32 = 2;
/// Relocation type of an address in a 64-bit immediate (`R_BPF_64_64`).
const MAP_ADDRESS: u32 = 1;

/// An object file under construction.
pub(crate) struct ObjectBuilder {
    file: Object<'static>,
    code: SectionId,
    /// Section of map definitions; `None` until a map is added.
    definitions: Option<SectionId>,
}

impl ObjectBuilder {
    pub fn new() -> Self {
        let mut file = Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
        let code = file.add_section(Vec::new(), b"xdp".to_vec(), SectionKind::Text);
        ObjectBuilder { file, code, definitions: None }
    }

    /// Adds a map definition to section `maps`; `words` are the fields of libbpf's `struct
    /// bpf_map_def`.
    pub fn add_map(&mut self, name: &str, words: &[u32]) -> SymbolId {
        let file = &mut self.file;
        let section = *self.definitions.get_or_insert_with(|| {
            file.add_section(Vec::new(), b"maps".to_vec(), SectionKind::Data)
        });
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let value = file.append_section_data(section, &bytes, 4);
        let size = bytes.len() as u64;
        let kind = SymbolKind::Data;
        file.add_symbol(symbol(name, (section, value, size), kind, SymbolScope::Linkage))
    }

    /// Adds a function to section `xdp`. The numbers in [`Imm64::MapFd`] are indices into `maps`.
    pub fn add_function(
        &mut self,
        name: &str,
        insns: &[Insn],
        scope: SymbolScope,
        maps: &[SymbolId],
    ) {
        let bytes = encode(insns);
        let start = self.file.append_section_data(self.code, &bytes, 8);
        let range = (self.code, start, bytes.len() as u64);
        self.file.add_symbol(symbol(name, range, SymbolKind::Text, scope));
        for (slot, insn) in insns.iter().enumerate() {
            let Insn::LoadImm64 { value: Imm64::MapFd(map), .. } = insn else { continue };
            let Some(&symbol) = usize::try_from(*map).ok().and_then(|map| maps.get(map)) else {
                continue;
            };
            let flags = RelocationFlags::Elf { r_type: MAP_ADDRESS };
            let offset = start + 8 * slot as u64;
            let relocation = Relocation { offset, symbol, addend: 0, flags };
            // Fails only for relocation flags of other formats.
            let _: object::write::Result<()> = self.file.add_relocation(self.code, relocation);
        }
    }

    /// Adds the `license` section and returns the bytes of the object file.
    pub fn finish(mut self) -> Vec<u8> {
        let license = self.file.add_section(Vec::new(), b"license".to_vec(), SectionKind::Data);
        self.file.append_section_data(license, b"GPL\0", 1);
        // Writing fails only for relocations and symbols of other formats.
        self.file.write().unwrap_or_default()
    }
}

fn symbol(
    name: &str,
    (section, value, size): (SectionId, u64, u64),
    kind: SymbolKind,
    scope: SymbolScope,
) -> Symbol {
    Symbol {
        name: name.as_bytes().to_vec(),
        value,
        size,
        kind,
        scope,
        weak: false,
        section: SymbolSection::Section(section),
        flags: SymbolFlags::None,
    }
}

/// Returns the bytes of an object file that contains a program. `functions` are its functions, the
/// entry function first; `map` is the array map that they look up.
pub(crate) fn write(functions: &[Vec<Insn>], map: Option<MapShape>) -> Vec<u8> {
    let mut object = ObjectBuilder::new();
    // libbpf's structure `bpf_map_def`: type, key size, value size, entries, flags.
    let words = |map: MapShape| [ARRAY, 4, 4 * u32::from(map.words), 1 << map.log_entries, 0];
    let maps: Vec<SymbolId> =
        map.into_iter().map(|map| object.add_map("table", &words(map))).collect();
    for (number, insns) in functions.iter().enumerate() {
        let entry = number == 0;
        let scope = if entry { SymbolScope::Linkage } else { SymbolScope::Compilation };
        object.add_function(&name(number), insns, scope, &maps);
    }
    object.finish()
}

/// Returns the symbol name of the function with this index; function 0 is the entry function.
pub(crate) fn name(number: usize) -> String {
    if number == 0 { "generated".to_owned() } else { format!("function{number}") }
}
