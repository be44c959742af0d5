// Architecture of packet filters in eBPF, ebpfFilter. P4_16 language specification 1.2.4, section
// "Architecture description", says how an architecture is declared.

#ifndef _EBPF_MODEL_P4_
#define _EBPF_MODEL_P4_

#include <core.p4>

// Counters in a BPF map: a hash map if sparse, or else an array.
extern CounterArray {
    CounterArray(bit<32> max_index, bool sparse);
    void increment(in bit<32> index);
    void add(in bit<32> index, in bit<32> value);
}

// Values of the table property `implementation`: the type of the BPF map, with its largest number
// of entries. A table with an lpm key uses a trie instead.

extern array_table {
    array_table(bit<32> size);
}

extern hash_table {
    hash_table(bit<32> size);
}

// Programmable blocks. The filter says whether the kernel keeps the packet.

parser parse<H>(packet_in packet, out H headers);
control filter<H>(inout H headers, out bool accept);

package ebpfFilter<H>(parse<H> prs, filter<H> filt);

#endif
