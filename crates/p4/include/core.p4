// Core library of P4_16: P4_16 language specification 1.2.4, appendix "P4 core library".

#ifndef _CORE_P4_
#define _CORE_P4_

// Faults of parsers. Programs can declare more.
error {
    NoError,
    PacketTooShort,
    NoMatch,
    StackOutOfBounds,
    HeaderTooShort,
    ParserTimeout,
    ParserInvalidArgument
}

// The packet that a parser reads, with a position in it.
extern packet_in {
    // Copies bits to a header of fixed size, and goes behind them.
    void extract<T>(out T hdr);
    // The same for a header with one varbit field, whose size is the second argument.
    void extract<T>(out T variableSizeHeader, in bit<32> variableFieldSizeInBits);
    // Returns the next bits, and stays before them.
    T lookahead<T>();
    // Goes behind bits.
    void advance(in bit<32> sizeInBits);
    // Returns the size of the packet in bytes.
    bit<32> length();
}

// The packet that a deparser writes.
extern packet_out {
    // Appends a valid header, or all valid headers of a stack, union or struct.
    void emit<T>(in T hdr);
}

// Ends parsing with an error unless the condition holds.
extern void verify(in bool check, in error toSignal);

@noWarn("unused")
action NoAction() {}

match_kind {
    exact,
    ternary,
    lpm
}

// Stops the compilation, with a message, unless the constant condition holds.
extern bool static_assert(bool check, string message);
extern bool static_assert(bool check);

#endif
