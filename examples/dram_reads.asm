; Looks up an entry of up to 8 words in DRAM for IPv4 packets and adds its words up.
;
; Slowest path: 8 reads, none of which is zero. The cores need 459 cycles when the sum is zero, and
; 50 of them would manage 87 million packets/s, but 8 reads keep the one DRAM engine busy for 32.42
; cycles: 24.7 million packets/s. So dram is the bottleneck, and more cores would not help. With 14
; cores or fewer, processing is.
; The loop needs no --unroll: its counter starts at 0, goes up by one and ends it at 8.
   0:	  .0  immed[gprB_22, 0x3fff]
   8:	  .1  alu[gprB_22, gprB_22, AND, *l$index1]
  10:	  .2  alu[gprA_4, gprB_22, +, *l$index1[2]], gpr_wrboth
  18:	  .3  immed[gprA_5, 0x0], gpr_wrboth
  20:	  .4  alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth
  28:	  .5  immed[gprA_3, 0x0], gpr_wrboth
; IPv4 only
  30:	  .6  alu[gprA_6, gprA_2, +, 0x22], gpr_wrboth
  38:	  .7  alu[gprA_7, gprA_3, +carry, 0x0], gpr_wrboth
  40:	  .8  alu[--, gprA_4, -, gprB_6]
  48:	  .9  alu[--, gprA_5, -carry, gprB_7]
  50:	 .10  bcc[.32]
  58:	 .11  mem[read32_swap, $xfer_0, gprA_2, 0xc, 6], ctx_swap[sig1]
  60:	 .12  ld_field_w_clr[gprA_6, 0011, $xfer_0], gpr_wrboth
  68:	 .13  alu[--, gprA_6, XOR, 0x8]
  70:	 .14  bne[.32]
; entry = table + (last byte of the source address) * 32
  78:	 .15  ld_field_w_clr[gprA_6, 0001, $xfer_4, >>8], gpr_wrboth
  80:	 .16  alu[gprA_1, --, B, gprB_23], gpr_wrboth
  88:	 .17  immed[gprA_21, 0x1fe0], gpr_wrboth
  90:	 .18  alu_shf[gprA_0, gprA_21, AND, gprB_6, <<5], gpr_wrboth
; for (i = 0; i < 8; i++) sum += entry[i], unless the entry ends with a zero word
  98:	 .19  immed[gprA_8, 0x0], gpr_wrboth
  a0:	 .20  immed[gprA_10, 0x0], gpr_wrboth
  a8:	 .21  mem[read32_swap, $xfer_0, gprB_1, <<8, gprA_0, 1], ctx_swap[sig1]
  b0:	 .22  alu[gprA_14, --, B, $xfer_0], gpr_wrboth
  b8:	 .23  alu[--, gprA_14, OR, 0x0]
  c0:	 .24  beq[.30]
  c8:	 .25  alu[gprA_8, gprA_8, +, gprB_14], gpr_wrboth
  d0:	 .26  alu[gprA_0, gprA_0, +, 0x4], gpr_wrboth
  d8:	 .27  alu[gprA_10, gprA_10, +, 0x1], gpr_wrboth
  e0:	 .28  alu[--, gprA_10, XOR, 0x8]
  e8:	 .29  bne[.21]
; sum == 0: not in the table
  f0:	 .30  alu[--, gprA_8, OR, 0x0]
  f8:	 .31  beq[.35]
 100:	 .32  immed[gprA_0, 0x2], gpr_wrboth
 108:	 .33  immed[gprA_1, 0x0], gpr_wrboth
 110:	 .34  br[.15000]
 118:	 .35  immed[gprA_0, 0x1], gpr_wrboth
 120:	 .36  immed[gprA_1, 0x0], gpr_wrboth
 128:	 .37  br[.15000]
