use super::*;
use crate::Insn;

/// Parses a listing of one instruction, and returns the instruction or the error message.
fn insn(text: &str) -> Result<Insn, String> {
    let listing = parse(&format!("0: .0 {text}")).map_err(|error| error.to_string())?;
    Ok(listing.numbered()[0].insn)
}

fn message(text: &str) -> String {
    match parse(text) {
        Ok(listing) => panic!("{text:?} is a listing:\n{listing}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_form_prints_as_it_reads() {
    let forms = include_str!("forms.txt");
    for form in forms.lines().filter(|line| !line.is_empty()) {
        let insn = insn(form).unwrap_or_else(|error| panic!("{form}: {error}"));
        assert_eq!(insn.to_string(), form);
    }
}

#[test]
fn blanks_and_comments_are_skipped() {
    let text = "; head\n\r\n  // more\n#top\n 0:\t.0 nop ; tail\r\n\n8: .1\tbr[ .15000 ] , defer[ 2 ] // x\n";
    let listing = parse(text).expect("it is a listing");
    let lines: Vec<_> = listing.numbered().iter().map(|numbered| numbered.line).collect();
    assert_eq!(lines, [5, 7]);
    assert_eq!(listing.to_string(), "   0:\t.0  nop\n   8:\t.1  br[.15000], defer[2]\n");
    assert!(parse("\u{feff}0: .0 nop").is_ok());
}

#[test]
fn attributes_come_in_any_order() {
    let text = "mem[read32_swap, $xfer_0, gprA_1, 0x0, 1], ctx_swap[sig2], indirect_ref";
    let printed = insn(text).expect("it is an instruction").to_string();
    assert_eq!(printed, "mem[read32_swap, $xfer_0, gprA_1, 0x0, 1], indirect_ref, ctx_swap[sig2]");
}

#[test]
fn lines_that_are_no_instructions() {
    for (text, expected) in [
        ("", "line 1: the listing is empty"),
        ("\n; x\n\n", "line 3: the listing has no instructions"),
        ("Disassembly of section .text", "line 1, column 1: the line lacks an instruction address"),
        ("0 .0 nop", "line 1, column 1: the line lacks an instruction address"),
        ("8: .0 nop", "line 1, column 1: address 8 where 0 is expected for instruction .0"),
        ("0: .0 nop\n10: .1 nop", "line 2, column 1: address 10 where 8 is expected"),
        ("0: .1 nop", "line 1, column 4: instruction .1 where .0 is expected"),
        ("0: nop", "line 1, column 4: no instruction number; `.0` is expected"),
        ("0: .0", "line 1, column 6: no mnemonic"),
        ("fffffffffffffffff: .0 nop", "line 1, column 1: the line lacks an instruction address"),
        ("0: .99999999999999999999 nop", "line 1, column 4: no instruction number"),
    ] {
        let found = message(text);
        assert!(found.starts_with(expected), "{text:?}: {found}");
    }
    let long = format!("0: .0 nop{}", " ".repeat(1000));
    assert!(message(&long).starts_with("line 1: a line of 1009 bytes"));
}

#[test]
fn instructions_that_do_not_exist() {
    for (text, expected) in [
        ("imed[gprA_0, 0x1]", "unknown instruction `imed` (did you mean `immed`?)"),
        ("beqq[.1]", "unknown instruction `beqq` (did you mean `beq`?)"),
        ("call[.1]", "unknown instruction `call`"),
        ("alu[gprA_0, gprA_1, ADD, 0x1]", "unknown ALU operator `ADD` (did you mean `AND`?)"),
        ("alu[gprA_0, gprA_1, %, 0x1]", "unknown ALU operator `%` (operators are + +16"),
        ("alu_shf[gprA_0, gprA_1, +, 0x1]", "unknown operator of a shift `+`"),
        ("alu[gprA_0, --, +, 0x1]", "`--` cannot be a source (only the operators B and ~B"),
        ("alu[0x1, gprA_1, +, 0x1]", "`0x1` cannot be a destination"),
        ("alu[gprA_0, gprA_1, +, --]", "`--` cannot be a source"),
        ("alu[gprA_0, gprA_1, +, 0x100]", "constant 0x100 is not at most 0xff (load larger"),
        ("alu[gprA_0, gprA_1, +, 5]", "expected an operand, found `5` (operands are gprA_n"),
        ("alu[gprA_32, gprA_1, +, 0x1]", "register 32 is not 0 to 31"),
        ("alu[gprA_, gprA_1, +, 0x1]", "expected a decimal number, found `,`"),
        ("alu[*l$index4, --, B, 0x1]", "local memory index 4 is not 0 to 3"),
        ("alu[*l$index0[16], --, B, 0x1]", "local memory word 16 is not 0 to 15"),
        ("alu[gprA_0, gprA_1, +, 0x1", "expected `]`, found the end of the line"),
        ("alu[gprA_0, gprA_1, +, 0x1] x", "expected `,` or the end of the line, found `x`"),
        ("alu[gprA_0, gprA_1, +, 0x1],", "expected an attribute, found the end of the line"),
        ("alu[gprA_0, --, B, 0x1], gpr_wrbot", "unknown attribute `gpr_wrbot` (did you mean"),
        ("alu[*l$index0, --, B, 0x1], gpr_wrboth", "`alu` has no attribute `gpr_wrboth` (only"),
        ("alu[gprA_0, --, B, 0x1], defer[1]", "`alu` has no attribute `defer`"),
        ("nop, nop", "unknown attribute `nop`"),
        ("br[.0], defer[1], defer[1]", "attribute `defer` is given twice"),
        ("br[.0], defer[0]", "number of delay slots 0 is not 1 to 3"),
        ("br[.0], defer[4]", "number of delay slots 4 is not 1 to 3"),
        ("br[]", "expected a branch target such as .12, found `]`"),
        ("br[.]", "expected a branch target such as .12, found `]`"),
        ("br[12]", "expected a branch target such as .12, found `12`"),
        ("br[.99999999999]", "branch target .99999999999 is not of 32 bits"),
        ("br", "expected `[`, found the end of the line"),
        ("immed[gprA_0, 0x12345]", "constant 0x12345 is not 16 bits or their complement"),
        ("immed[gprA_0, 0x1, <<4]", "expected `<<8` or `<<16`, found `<<4`"),
        ("immed[gprA_0, 0x]", "expected a constant such as 0x1f"),
        ("immed[gprA_0, 0x123456789]", "constant 0x123456789 is not a value of 32 bits"),
        ("immed_w1[--, 0x1]", "`--` cannot be a destination whose old value is read"),
        ("immed_w1[gprA_0, 0x10000]", "constant 0x10000 is not at most 0xffff"),
        ("ld_field[gprA_0, 001, gprB_0]", "expected a byte mask of four binary digits"),
        ("ld_field[$xfer_0, 0001, gprB_0]", "`$xfer_0` cannot be a destination whose old"),
        ("asr[gprA_0, gprB_0, <<1]", "expected a shift to the right, found <<1"),
        ("dbl_shf[gprA_0, gprA_1, gprB_0]", "expected `,`, found `]`"),
        ("alu_shf[gprA_0, --, B, gprB_0, <<32]", "shift by 32 is not 0 to 31"),
        ("alu_shf[gprA_0, --, B, gprB_0, <<x]", "expected a number of bits or `indirect`"),
        ("local_csr_wr[CtxPtr, gprA_0]", "unknown control register `CtxPtr` (only ActLMAddr0"),
        ("mem[test_add, $xfer_0, gprA_0, 0x0, 1]", "unknown memory command `test_add` (supported"),
        ("mem[read8, $xfer_0, gprA_0, 0x0, 1], defer[1]", "expected ctx_swap[sigN], which"),
        ("mem[read8, $xfer_0, gprA_0, 0x0, 1], ctx_swap[sig1], defer[3]", "slots 3 is not 1 to 2"),
        ("local_csr_rd[PseudoRnd]", "unknown control register `PseudoRnd`"),
        ("local_csr_rd[0x149]", "control register 0x149 is not a multiple of 4 up to 0x1ffc"),
        ("br_bset[gprA_0, 32, .1]", "bit 32 is not 0 to 31"),
        ("br_bset[gprA_0, 1, 1]", "expected a branch target such as .12, found `1`"),
        ("rtn[--]", "`--` cannot be a source"),
        ("mem[read32, $xfer_0, gprA_0, 0x0, 1]", "unknown memory command `read32`"),
        ("mem[write8_swap, gprA_0, gprA_0, 0x0, 1]", "expected a transfer register"),
        ("mem[add_imm, $xfer_0, gprB_0, <<4, gprA_0, 1]", "expected `<<8`, found `<<4`"),
        ("mem[write8_swap, $xfer_0, gprA_0, 0x0, 0]", "count 0 is not 1 to 31"),
        ("mem[write8_swap, $xfer_0, *l$index0, 0x0, 1]", "`*l$index0` cannot be part of an"),
        ("mul_step[gprA_0, gprB_0]", "expected a multiplication step, found the end"),
        ("mul_step[gprA_0, gprB_0], 32x32_last", "expected `--`, found `gprB_0`"),
        ("mul_step[gprA_0, --], start", "`--` cannot be a source"),
        ("mul_step[gprA_0, gprB_0], start, gpr_wrboth", "has no attribute `gpr_wrboth`"),
        ("mul_step[gprA_0, gprB_0], 32x32_step5", "unknown attribute `32x32_step5` (did you"),
    ] {
        let found = insn(text).expect_err(text);
        assert!(found.starts_with("line 1, column ") && found.contains(expected), "{found}");
    }
}

#[test]
fn columns_count_characters() {
    let error = parse("0: .0 alu[gprA_0, gprA_1, OR, 0x100]").expect_err("too large");
    assert_eq!((error.line, error.column), (1, Some(31)));
    let error = parse("0: .0 aläu").expect_err("unknown");
    assert_eq!(error.column, Some(7));
}

#[test]
fn files_that_are_no_text() {
    let error = |bytes: &[u8]| parse_bytes(bytes).expect_err("no listing").to_string();
    assert!(error(b"").starts_with("line 1: the listing is empty"));
    assert!(error(b"\x7fELF\0\0").starts_with("line 1: not a text file: byte 4"));
    assert!(error(b"0: .0 nop\n\xff").starts_with("line 2: not a text file: byte 10"));
    assert!(error(&vec![0; 100 << 20]).starts_with("line 1: not a text file: byte 0"));
    assert!(error(&vec![b'0'; 100 << 20]).starts_with("line 1: 104857600 bytes are too many"));
    assert!(error(&vec![b'0'; 8 << 20]).starts_with("line 1: a line of 8388608 bytes"));
    for text in [&vec![b'\n'; 1 << 20], &b"0: .0 nop\n".repeat(1000)] {
        assert_eq!(error(text).lines().count(), 1);
    }
    assert!(parse_bytes(b"0: .0 nop\n").is_ok());
}

#[test]
fn listings_end_before_the_first_way_out() {
    let listing = crate::Listing::new(vec![Insn::Nop; 15_001]);
    let error = parse(&listing.to_string()).expect_err("too long");
    assert_eq!((error.line, error.cause), (15_001, ParseCause::TooManyInstructions));
}
