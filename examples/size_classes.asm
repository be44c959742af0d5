; Up to three nested headers, which need packets of 34, 96 and 160 bytes; the words of each that is
; there are added up twice.
;
; Slowest path by packet rate: all three headers, 160 bytes, 312 cycles, because each adds work.
; Slowest path by bit rate: protocol 4, but too short for the second header. 269 cycles are 4.48 a
; byte when the packet has 60 bytes; with two headers it is 3.08, with three 1.95.
; The check of the first header cannot fail, because no packet is shorter than 60 bytes.
; On 50 cores all paths are faster than the MAC of the card lets packets in; try --cores 5.
   0:	  .0  immed[gprB_22, 0x3fff]
   8:	  .1  alu[gprB_22, gprB_22, AND, *l$index1]
  10:	  .2  alu[gprA_4, gprB_22, +, *l$index1[2]], gpr_wrboth
  18:	  .3  immed[gprA_5, 0x0], gpr_wrboth
  20:	  .4  alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth
  28:	  .5  immed[gprA_3, 0x0], gpr_wrboth
; the outer header: 14 + 20 bytes
  30:	  .6  alu[gprA_6, gprA_2, +, 0x22], gpr_wrboth
  38:	  .7  alu[gprA_7, gprA_3, +carry, 0x0], gpr_wrboth
  40:	  .8  alu[--, gprA_4, -, gprB_6]
  48:	  .9  alu[--, gprA_5, -carry, gprB_7]
  50:	 .10  bcc[.74]
  58:	 .11  mem[read32_swap, $xfer_0, gprA_2, 0xe, 5], ctx_swap[sig1]
  60:	 .12  ld_field_w_clr[gprA_10, 0001, $xfer_2, >>8], gpr_wrboth
  68:	 .13  immed[gprA_8, 0x0], gpr_wrboth
  70:	 .14  immed[gprA_9, 0x0], gpr_wrboth
  78:	 .15  alu[gprA_8, gprA_8, +, $xfer_0], gpr_wrboth
  80:	 .16  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
  88:	 .17  alu[gprA_8, gprA_8, +, $xfer_1], gpr_wrboth
  90:	 .18  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
  98:	 .19  alu[gprA_8, gprA_8, +, $xfer_2], gpr_wrboth
  a0:	 .20  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
  a8:	 .21  alu[gprA_8, gprA_8, +, $xfer_3], gpr_wrboth
  b0:	 .22  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
  b8:	 .23  alu[gprA_8, gprA_8, +, $xfer_4], gpr_wrboth
  c0:	 .24  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
; protocol 4: another IP header follows; it is summed with the 8 words after it
  c8:	 .25  alu[--, gprA_10, XOR, 0x4]
  d0:	 .26  bne[.74]
  d8:	 .27  alu[gprA_6, gprA_2, +, 0x60], gpr_wrboth
  e0:	 .28  alu[gprA_7, gprA_3, +carry, 0x0], gpr_wrboth
  e8:	 .29  alu[--, gprA_4, -, gprB_6]
  f0:	 .30  alu[--, gprA_5, -carry, gprB_7]
  f8:	 .31  bcc[.74]
 100:	 .32  mem[read32_swap, $xfer_0, gprA_2, 0x22, 8], ctx_swap[sig1]
 108:	 .33  ld_field_w_clr[gprA_10, 0001, $xfer_2, >>8], gpr_wrboth
 110:	 .34  alu[gprA_8, gprA_8, +, $xfer_0], gpr_wrboth
 118:	 .35  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 120:	 .36  alu[gprA_8, gprA_8, +, $xfer_1], gpr_wrboth
 128:	 .37  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 130:	 .38  alu[gprA_8, gprA_8, +, $xfer_2], gpr_wrboth
 138:	 .39  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 140:	 .40  alu[gprA_8, gprA_8, +, $xfer_3], gpr_wrboth
 148:	 .41  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 150:	 .42  alu[gprA_8, gprA_8, +, $xfer_4], gpr_wrboth
 158:	 .43  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 160:	 .44  alu[gprA_8, gprA_8, +, $xfer_5], gpr_wrboth
 168:	 .45  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 170:	 .46  alu[gprA_8, gprA_8, +, $xfer_6], gpr_wrboth
 178:	 .47  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 180:	 .48  alu[gprA_8, gprA_8, +, $xfer_7], gpr_wrboth
 188:	 .49  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
; its protocol 47: a third header, summed as well
 190:	 .50  alu[--, gprA_10, XOR, 0x2f]
 198:	 .51  bne[.74]
 1a0:	 .52  alu[gprA_6, gprA_2, +, 0xa0], gpr_wrboth
 1a8:	 .53  alu[gprA_7, gprA_3, +carry, 0x0], gpr_wrboth
 1b0:	 .54  alu[--, gprA_4, -, gprB_6]
 1b8:	 .55  alu[--, gprA_5, -carry, gprB_7]
 1c0:	 .56  bcc[.74]
 1c8:	 .57  mem[read32_swap, $xfer_0, gprA_2, 0x60, 8], ctx_swap[sig1]
 1d0:	 .58  alu[gprA_8, gprA_8, +, $xfer_0], gpr_wrboth
 1d8:	 .59  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 1e0:	 .60  alu[gprA_8, gprA_8, +, $xfer_1], gpr_wrboth
 1e8:	 .61  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 1f0:	 .62  alu[gprA_8, gprA_8, +, $xfer_2], gpr_wrboth
 1f8:	 .63  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 200:	 .64  alu[gprA_8, gprA_8, +, $xfer_3], gpr_wrboth
 208:	 .65  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 210:	 .66  alu[gprA_8, gprA_8, +, $xfer_4], gpr_wrboth
 218:	 .67  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 220:	 .68  alu[gprA_8, gprA_8, +, $xfer_5], gpr_wrboth
 228:	 .69  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 230:	 .70  alu[gprA_8, gprA_8, +, $xfer_6], gpr_wrboth
 238:	 .71  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 240:	 .72  alu[gprA_8, gprA_8, +, $xfer_7], gpr_wrboth
 248:	 .73  alu[gprA_9, gprA_9, +, gprB_8], gpr_wrboth
 250:	 .74  immed[gprA_0, 0x2], gpr_wrboth
 258:	 .75  immed[gprA_1, 0x0], gpr_wrboth
 260:	 .76  br[.15000]
