use super::widths;

#[test]
fn keys_are_loaded_as_the_kernel_loads_them() {
    assert_eq!(widths(40, false), [4; 10]);
    assert_eq!(widths(4, false), [4]);
    // The tail of a key whose size is not a multiple of 4 is loaded byte by byte.
    assert_eq!(widths(18, false), [4, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    // A trie key: prefix length, then address.
    assert_eq!(widths(8, true), [4, 4]);
    assert_eq!(widths(20, true), [4, 8, 8]);
    assert_eq!(widths(11, true), [4, 4, 2, 1]);
    for bytes in 0..300 {
        for is_trie in [false, true] {
            let sum: u32 = widths(bytes, is_trie).into_iter().map(u32::from).sum();
            assert!(sum == bytes || is_trie && bytes < 4, "{bytes} {is_trie}: {sum}");
        }
    }
}
