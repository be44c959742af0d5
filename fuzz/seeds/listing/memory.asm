   0:	 .0  alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth
   8:	 .1  mem[read32_swap, $xfer_0, gprA_2, 0xc, 2], ctx_swap[sig1]
  10:	 .2  ld_field_w_clr[gprA_4, 0011, $xfer_0, >>16], gpr_wrboth
  18:	 .3  alu_shf[gprA_4, --, B, gprB_4, <<2], gpr_wrboth
  20:	 .4  immed[gprA_21, 0x890]
  28:	 .5  ld_field[gprA_21, 1100, gprB_4, <<16]
  30:	 .6  mem[add_imm, $xfer_0, gprB_23, <<8, gprA_4, 1], indirect_ref
  38:	 .7  alu[$xfer_0, --, B, gprA_4]
  40:	 .8  mem[write8_swap, $xfer_0, gprA_2, 0x6, 6], ctx_swap[sig1]
  48:	 .9  br[.15000]
