   0:	 .0  mul_step[gprA_2, gprB_4], start
   8:	 .1  mul_step[gprA_2, gprB_4], 16x16_step1
  10:	 .2  mul_step[gprA_2, gprB_4], 16x16_step2
  18:	 .3  mul_step[gprA_6, --], 16x16_last, gpr_wrboth
  20:	 .4  alu[--, gprA_6, OR, 0x0]
  28:	 .5  asr[gprA_7, gprB_6, >>31], gpr_wrboth
  30:	 .6  dbl_shf[gprA_6, gprA_7, gprB_6, >>indirect], gpr_wrboth
  38:	 .7  local_csr_wr[ActLMAddr0, gprA_22]
  40:	 .8  immed_w1[gprA_6, 0x1234], gpr_wrboth
  48:	 .9  nop
  50:	.10  nop
  58:	.11  alu[*l$index0[3], gprA_6, +16, gprB_7]
  60:	.12  alu[--, gprA_6, -carry, *l$index2++]
  68:	.13  blt[.0], defer[1]
  70:	.14  ld_field[gprB_3, 0101, gprA_2, >>rot16], gpr_wrboth
  78:	.15  bvs[.15004]
  80:	.16  br[.15000]
