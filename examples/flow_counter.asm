; Counts UDP and TCP packets over IPv4 in one of 256 counters in DRAM, by a hash of addresses and
; ports, unless a word in DRAM says that the counter is blocked: then the packet is dropped.
;
; Slowest path: any that reaches the counter, 363.6 cycles' worth for 60 bytes. A read and an atomic
; add keep the DRAM engine busy for 7.27 cycles, the time in which 50 cores do 363.6 cycles of work,
; and no path takes the cores longer than 301. With 41 cores or fewer, processing is the bottleneck,
; and TCP packets are the slowest. Those with SYN are hashed once more at no cost: that work fits in
; the time that must pass between two accesses to memory.
   0:	  .0  immed[gprB_22, 0x3fff]
   8:	  .1  alu[gprB_22, gprB_22, AND, *l$index1]
  10:	  .2  alu[gprA_4, gprB_22, +, *l$index1[2]], gpr_wrboth
  18:	  .3  immed[gprA_5, 0x0], gpr_wrboth
  20:	  .4  alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth
  28:	  .5  immed[gprA_3, 0x0], gpr_wrboth
; Ethernet, IPv4 without options, and the ports
  30:	  .6  alu[gprA_6, gprA_2, +, 0x2a], gpr_wrboth
  38:	  .7  alu[gprA_7, gprA_3, +carry, 0x0], gpr_wrboth
  40:	  .8  alu[--, gprA_4, -, gprB_6]
  48:	  .9  alu[--, gprA_5, -carry, gprB_7]
  50:	 .10  bcc[.53]
  58:	 .11  mem[read32_swap, $xfer_0, gprA_2, 0xc, 8], ctx_swap[sig1]
  60:	 .12  ld_field_w_clr[gprA_6, 0011, $xfer_0], gpr_wrboth
  68:	 .13  alu[--, gprA_6, XOR, 0x8]
  70:	 .14  bne[.53]
  78:	 .15  ld_field_w_clr[gprA_6, 0001, $xfer_0, >>16], gpr_wrboth
  80:	 .16  alu[--, gprA_6, XOR, 0x45]
  88:	 .17  bne[.53]
; hash of addresses and ports
  90:	 .18  immed[gprA_8, 0x0], gpr_wrboth
  98:	 .19  alu_shf[gprA_8, gprA_8, OR, $xfer_3, >>16], gpr_wrboth
  a0:	 .20  alu[gprA_8, gprA_8, XOR, $xfer_4], gpr_wrboth
  a8:	 .21  alu[gprA_8, gprA_8, XOR, $xfer_5], gpr_wrboth
; TCP has flags: they need another check, and a SYN is hashed once more
  b0:	 .22  ld_field_w_clr[gprA_10, 0001, $xfer_2, >>24], gpr_wrboth
  b8:	 .23  alu[--, gprA_10, XOR, 0x6]
  c0:	 .24  bne[.38]
  c8:	 .25  alu[gprA_6, gprA_2, +, 0x36], gpr_wrboth
  d0:	 .26  alu[gprA_7, gprA_3, +carry, 0x0], gpr_wrboth
  d8:	 .27  alu[--, gprA_4, -, gprB_6]
  e0:	 .28  alu[--, gprA_5, -carry, gprB_7]
  e8:	 .29  bcc[.53]
  f0:	 .30  mem[read32_swap, $xfer_8, gprA_2, 0x2e, 1], ctx_swap[sig1]
  f8:	 .31  ld_field_w_clr[gprA_6, 0001, $xfer_8, >>8], gpr_wrboth
 100:	 .32  alu[gprA_6, gprA_6, AND, 0x2], gpr_wrboth
 108:	 .33  beq[.40]
 110:	 .34  alu_shf[gprA_8, gprA_8, OR, gprB_8, >>16], gpr_wrboth
 118:	 .35  alu_shf[gprA_8, gprA_8, OR, gprB_8, <<5], gpr_wrboth
 120:	 .36  alu_shf[gprA_8, gprA_8, OR, gprB_8, >>7], gpr_wrboth
 128:	 .37  br[.40]
 130:	 .38  alu[--, gprA_10, XOR, 0x11]
 138:	 .39  bne[.53]
; if (blocked[hash % 256]) return XDP_DROP;
 140:	 .40  alu[gprA_1, --, B, gprB_23], gpr_wrboth
 148:	 .41  immed[gprA_21, 0x3fc], gpr_wrboth
 150:	 .42  alu_shf[gprA_0, gprA_21, AND, gprB_8, <<2], gpr_wrboth
 158:	 .43  mem[read32_swap, $xfer_0, gprB_1, <<8, gprA_0, 1], ctx_swap[sig1]
 160:	 .44  alu[gprA_6, --, B, $xfer_0], gpr_wrboth
 168:	 .45  alu[--, gprA_6, OR, 0x0]
 170:	 .46  bne[.56]
; counter[hash % 256]++;
 178:	 .47  immed[gprA_21, 0x400], gpr_wrboth
 180:	 .48  alu[gprA_0, gprA_0, +, gprB_21], gpr_wrboth
 188:	 .49  immed[gprA_12, 0x1], gpr_wrboth
 190:	 .50  immed[gprA_21, 0x890]
 198:	 .51  ld_field[gprA_21, 1100, gprB_12, <<16]
 1a0:	 .52  mem[add_imm, $xfer_0, gprB_1, <<8, gprA_0, 1], indirect_ref
 1a8:	 .53  immed[gprA_0, 0x2], gpr_wrboth
 1b0:	 .54  immed[gprA_1, 0x0], gpr_wrboth
 1b8:	 .55  br[.15000]
 1c0:	 .56  immed[gprA_0, 0x1], gpr_wrboth
 1c8:	 .57  immed[gprA_1, 0x0], gpr_wrboth
 1d0:	 .58  br[.15000]
