   0:	  .0  immed[gprB_22, 0x3fff]
   8:	  .1  alu[gprB_22, gprB_22, AND, *l$index1]
  10:	  .2  alu[gprA_4, gprB_22, +, *l$index1[2]], gpr_wrboth
  18:	  .3  immed[gprA_5, 0x0], gpr_wrboth
  20:	  .4  alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth
  28:	  .5  immed[gprA_3, 0x0], gpr_wrboth
  30:	  .6  alu[gprA_6, --, B, gprB_2], gpr_wrboth
  38:	  .7  alu[gprA_7, --, B, gprB_3], gpr_wrboth
  40:	  .8  alu[gprA_6, gprA_6, +, 0x26], gpr_wrboth
  48:	  .9  alu[gprA_7, gprA_7, +carry, 0x0], gpr_wrboth
  50:	 .10  alu[--, gprA_4, -, gprB_6]
  58:	 .11  alu[--, gprA_5, -carry, gprB_7]
  60:	 .12  bcc[.114]
  68:	 .13  mem[read32_swap, $xfer_0, gprA_2, 0xc, 3], ctx_swap[sig1]
  70:	 .14  ld_field_w_clr[gprA_4, 0001, $xfer_0], gpr_wrboth
  78:	 .15  ld_field_w_clr[gprA_6, 0001, $xfer_0, >>8], gpr_wrboth
  80:	 .16  alu_shf[gprA_6, --, B, gprB_6, <<8], gpr_wrboth
  88:	 .17  alu[gprA_6, gprA_6, OR, gprB_4], gpr_wrboth
  90:	 .18  alu[--, gprA_6, XOR, 0x8]
  98:	 .19  bne[.114]
  a0:	 .20  ld_field_w_clr[gprA_4, 0001, $xfer_0, >>16], gpr_wrboth
  a8:	 .21  alu[--, gprA_4, XOR, 0x45]
  b0:	 .22  bne[.114]
  b8:	 .23  ld_field_w_clr[gprA_4, 0001, $xfer_2, >>24], gpr_wrboth
  c0:	 .24  alu[--, gprA_4, XOR, 0x11]
  c8:	 .25  beq[.28]
  d0:	 .26  alu[--, gprA_4, XOR, 0x6]
  d8:	 .27  bne[.114]
  e0:	 .28  mem[read32_swap, $xfer_0, gprA_2, 0x14, 5], ctx_swap[sig1]
  e8:	 .29  ld_field_w_clr[gprA_6, 0011, $xfer_0], gpr_wrboth
  f0:	 .30  immed[gprB_21, 0xff3f]
  f8:	 .31  alu[gprA_6, gprA_6, AND, gprB_21], gpr_wrboth
 100:	 .32  alu[--, --, B, gprB_6]
 108:	 .33  bne[.114]
 110:	 .34  immed[gprB_21, 0x79b1]
 118:	 .35  immed_w1[gprB_21, 0x9e37]
 120:	 .36  mul_step[gprA_4, gprB_21], start
 128:	 .37  mul_step[gprA_4, gprB_21], 32x32_step1
 130:	 .38  mul_step[gprA_4, gprB_21], 32x32_step2
 138:	 .39  mul_step[gprA_4, gprB_21], 32x32_step3
 140:	 .40  mul_step[gprA_4, gprB_21], 32x32_step4
 148:	 .41  mul_step[gprA_4, --], 32x32_last, gpr_wrboth
 150:	 .42  immed[gprA_5, 0x0], gpr_wrboth
 158:	 .43  alu[gprA_6, --, B, gprB_4], gpr_wrboth
 160:	 .44  immed[gprA_7, 0x0], gpr_wrboth
 168:	 .45  alu_shf[gprA_6, --, B, gprB_6, >>15], gpr_wrboth
 170:	 .46  alu[gprA_6, gprA_6, XOR, gprB_4], gpr_wrboth
 178:	 .47  ld_field_w_clr[gprA_4, 0011, $xfer_1, >>16], gpr_wrboth
 180:	 .48  ld_field[gprA_4, 1100, $xfer_2, <<16], gpr_wrboth
 188:	 .49  alu[gprA_4, gprA_4, XOR, gprB_6], gpr_wrboth
 190:	 .50  immed[gprB_21, 0x79b1]
 198:	 .51  immed_w1[gprB_21, 0x9e37]
 1a0:	 .52  mul_step[gprA_4, gprB_21], start
 1a8:	 .53  mul_step[gprA_4, gprB_21], 32x32_step1
 1b0:	 .54  mul_step[gprA_4, gprB_21], 32x32_step2
 1b8:	 .55  mul_step[gprA_4, gprB_21], 32x32_step3
 1c0:	 .56  mul_step[gprA_4, gprB_21], 32x32_step4
 1c8:	 .57  mul_step[gprA_4, --], 32x32_last, gpr_wrboth
 1d0:	 .58  immed[gprA_5, 0x0], gpr_wrboth
 1d8:	 .59  alu[gprA_6, --, B, gprB_4], gpr_wrboth
 1e0:	 .60  immed[gprA_7, 0x0], gpr_wrboth
 1e8:	 .61  alu_shf[gprA_6, --, B, gprB_6, >>15], gpr_wrboth
 1f0:	 .62  alu[gprA_6, gprA_6, XOR, gprB_4], gpr_wrboth
 1f8:	 .63  ld_field_w_clr[gprA_4, 0011, $xfer_2, >>16], gpr_wrboth
 200:	 .64  ld_field[gprA_4, 1100, $xfer_3, <<16], gpr_wrboth
 208:	 .65  alu[gprA_6, gprA_6, XOR, gprB_4], gpr_wrboth
 210:	 .66  immed[gprB_21, 0x79b1]
 218:	 .67  immed_w1[gprB_21, 0x9e37]
 220:	 .68  mul_step[gprA_6, gprB_21], start
 228:	 .69  mul_step[gprA_6, gprB_21], 32x32_step1
 230:	 .70  mul_step[gprA_6, gprB_21], 32x32_step2
 238:	 .71  mul_step[gprA_6, gprB_21], 32x32_step3
 240:	 .72  mul_step[gprA_6, gprB_21], 32x32_step4
 248:	 .73  mul_step[gprA_6, --], 32x32_last, gpr_wrboth
 250:	 .74  immed[gprA_7, 0x0], gpr_wrboth
 258:	 .75  alu[gprA_4, --, B, gprB_6], gpr_wrboth
 260:	 .76  immed[gprA_5, 0x0], gpr_wrboth
 268:	 .77  alu_shf[gprA_4, --, B, gprB_4, >>15], gpr_wrboth
 270:	 .78  alu[gprA_4, gprA_4, XOR, gprB_6], gpr_wrboth
 278:	 .79  ld_field_w_clr[gprA_2, 0011, $xfer_3, >>16], gpr_wrboth
 280:	 .80  ld_field[gprA_2, 1100, $xfer_4, <<16], gpr_wrboth
 288:	 .81  alu[gprA_4, gprA_4, XOR, gprB_2], gpr_wrboth
 290:	 .82  immed[gprB_21, 0x79b1]
 298:	 .83  immed_w1[gprB_21, 0x9e37]
 2a0:	 .84  mul_step[gprA_4, gprB_21], start
 2a8:	 .85  mul_step[gprA_4, gprB_21], 32x32_step1
 2b0:	 .86  mul_step[gprA_4, gprB_21], 32x32_step2
 2b8:	 .87  mul_step[gprA_4, gprB_21], 32x32_step3
 2c0:	 .88  mul_step[gprA_4, gprB_21], 32x32_step4
 2c8:	 .89  mul_step[gprA_4, --], 32x32_last, gpr_wrboth
 2d0:	 .90  immed[gprA_5, 0x0], gpr_wrboth
 2d8:	 .91  alu[gprA_2, --, B, gprB_4], gpr_wrboth
 2e0:	 .92  immed[gprA_3, 0x0], gpr_wrboth
 2e8:	 .93  alu_shf[gprA_2, --, B, gprB_2, >>15], gpr_wrboth
 2f0:	 .94  alu[gprA_2, gprA_2, XOR, gprB_4], gpr_wrboth
 2f8:	 .95  immed[gprB_21, 0x1fff]
 300:	 .96  alu[gprA_2, gprA_2, AND, gprB_21], gpr_wrboth
 308:	 .97  alu[*l$index0, --, B, gprB_2]
 310:	 .98  alu[gprA_4, gprA_22, +, 0x4], gpr_wrboth
 318:	 .99  immed[gprA_5, 0x0], gpr_wrboth
 320:	.100  alu[gprA_4, gprA_4, -, 0x4], gpr_wrboth
 328:	.101  alu[gprA_5, gprA_5, -carry, 0x0], gpr_wrboth
 330:	.102  immed[gprA_2, 0x0], gpr_wrboth
 338:	.103  alu[gprA_3, --, B, gprA_2], gpr_wrboth
 340:	.104  alu[gprA_1, --, B, gprB_23], gpr_wrboth
 348:	.105  immed[gprA_21, 0xffff]
 350:	.106  alu_shf[gprA_0, gprA_21, AND, *l$index0, <<3], gpr_wrboth
 358:	.107  alu[--, gprA_0, OR, gprB_1]
 360:	.108  beq[.114]
 368:	.109  immed[gprA_2, 0x1], gpr_wrboth
 370:	.110  immed[gprA_3, 0x0], gpr_wrboth
 378:	.111  immed[gprA_21, 0xc90]
 380:	.112  ld_field[gprA_21, 1100, gprB_2, <<16]
 388:	.113  mem[add_imm, $xfer_0, gprB_1, <<8, gprA_0, 1], indirect_ref
 390:	.114  immed[gprA_0, 0x2], gpr_wrboth
 398:	.115  immed[gprA_1, 0x0], gpr_wrboth
 3a0:	.116  br[.15000]
 3a8:	.117  br[.15000], defer[2]
 3b0:	.118  alu[gprA_0, --, B, 0x0]
 3b8:	.119  ld_field[gprA_0, 1100, 0x82, <<16]
 3c0:	.120  alu[--, 0x3, -, gprB_0]
 3c8:	.121  bcc[.117]
 3d0:	.122  immed[gprB_2, 0x2282]
 3d8:	.123  immed_w1[gprB_2, 0x4411]
 3e0:	.124  alu_shf[gprA_1, --, B, gprB_0, <<3]
 3e8:	.125  alu[--, gprA_1, OR, 0x0]
 3f0:	.126  alu_shf[gprB_2, 0xff, AND, gprB_2, >>indirect]
 3f8:	.127  br[.15000], defer[2]
 400:	.128  alu[gprA_0, --, B, 0x0]
 408:	.129  ld_field[gprA_0, 1100, gprB_2, <<16]
 410:	.130  nop
 418:	.131  nop
 420:	.132  nop
 428:	.133  nop
 430:	.134  nop
 438:	.135  nop
 440:	.136  nop
 448:	.137  nop
