//! Structures that are the arguments of bpf(2) commands. They correspond to the members of `union
//! bpf_attr` in the kernel's `uapi/linux/bpf.h`, up to the last field used here. No structure has
//! padding.

/// Size of a name in the kernel in bytes, including the NUL byte.
pub const NAME: usize = 16;

#[repr(C)]
#[derive(Default)]
pub struct MapCreateAttr {
    pub kind: u32,
    pub key_size: u32,
    pub value_size: u32,
    pub max_entries: u32,
    pub flags: u32,
    pub inner_fd: u32,
    pub numa_node: u32,
    pub name: [u8; NAME],
    pub ifindex: u32,
    pub btf_fd: u32,
    pub btf_key: u32,
    pub btf_value: u32,
    pub btf_vmlinux_value: u32,
    pub extra: u64,
}

#[repr(C)]
#[derive(Default)]
pub struct MapElementAttr {
    pub fd: u32,
    pub padding: u32,
    pub key: u64,
    pub value: u64,
    pub flags: u64,
}

#[repr(C)]
#[derive(Default)]
pub struct MapBatchAttr {
    pub start: u64,
    pub end: u64,
    pub keys: u64,
    pub values: u64,
    pub count: u32,
    pub fd: u32,
    pub element_flags: u64,
    pub flags: u64,
}

#[repr(C)]
pub struct FdAttr {
    pub fd: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct BtfLoadAttr {
    pub btf: u64,
    pub log: u64,
    pub size: u32,
    pub log_size: u32,
    pub log_level: u32,
    pub padding: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct ProgLoadAttr {
    pub kind: u32,
    pub insn_count: u32,
    pub insns: u64,
    pub license: u64,
    pub log_level: u32,
    pub log_size: u32,
    pub log: u64,
    pub kernel_version: u32,
    pub flags: u32,
    pub name: [u8; NAME],
    pub ifindex: u32,
    pub attach: u32,
    pub btf_fd: u32,
    pub func_info_size: u32,
    pub func_info: u64,
    pub func_info_count: u32,
    pub line_info_size: u32,
    pub line_info: u64,
    pub line_info_count: u32,
    pub attach_btf: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct TestRunAttr {
    pub fd: u32,
    pub return_value: u32,
    pub size_in: u32,
    pub size_out: u32,
    pub data_in: u64,
    pub data_out: u64,
    pub repeat: u32,
    pub duration: u32,
    pub context_size_in: u32,
    pub context_size_out: u32,
    pub context_in: u64,
    pub context_out: u64,
    pub flags: u32,
    pub cpu: u32,
    pub batch: u32,
    pub padding: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct LinkCreateAttr {
    pub program: u32,
    pub ifindex: u32,
    pub attach: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct LinkUpdateAttr {
    pub link: u32,
    pub program: u32,
    pub flags: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct NextIdAttr {
    pub start: u32,
    pub next: u32,
}

#[repr(C)]
#[derive(Default)]
pub struct ObjectInfoAttr {
    pub fd: u32,
    pub size: u32,
    pub info: u64,
}

// An extra or missing field would change the size.
const _: () = {
    assert!(size_of::<MapCreateAttr>() == 72);
    assert!(size_of::<MapElementAttr>() == 32);
    assert!(size_of::<BtfLoadAttr>() == 32);
    assert!(size_of::<ProgLoadAttr>() == 112);
    assert!(size_of::<TestRunAttr>() == 80);
};
