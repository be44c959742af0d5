; The program of figure 2 of "Determination of Throughput Guarantees for Processor-based SmartNICs"
; (CoNEXT 2021): packets under 100 bytes are dropped; IPv4 packets are counted in DRAM; IPv6 packets
; wait for a loop of 10 iterations; everything but the short packets passes.
;
; Slowest path by packet rate: IPv6, 323 cycles, because of the loop. A path through the counter and
; the loop would take 326, but no packet is both IPv4 and IPv6.
; Slowest path by bit rate: a packet that is too short. It takes only 244 cycles, but with as few as
; 60 bytes that is 4.07 cycles a byte; IPv6 packets have at least 100 bytes, 3.23 cycles each.
; On 50 cores either path is faster than the MAC of the card lets packets in; try --cores 5.
   0:	  .0  immed[gprB_22, 0x3fff]
   8:	  .1  alu[gprB_22, gprB_22, AND, *l$index1]
  10:	  .2  alu[gprA_4, gprB_22, +, *l$index1[2]], gpr_wrboth
  18:	  .3  immed[gprA_5, 0x0], gpr_wrboth
  20:	  .4  alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth
  28:	  .5  immed[gprA_3, 0x0], gpr_wrboth
; if (data + 100 > data_end) return XDP_DROP;
  30:	  .6  alu[gprA_6, gprA_2, +, 0x64], gpr_wrboth
  38:	  .7  alu[gprA_7, gprA_3, +carry, 0x0], gpr_wrboth
  40:	  .8  alu[--, gprA_4, -, gprB_6]
  48:	  .9  alu[--, gprA_5, -carry, gprB_7]
  50:	 .10  bcc[.32]
; if (ethertype == IPv4) atomic_inc(&ip4_counter, 1);
  58:	 .11  mem[read32_swap, $xfer_0, gprA_2, 0xc, 1], ctx_swap[sig1]
  60:	 .12  ld_field_w_clr[gprA_6, 0011, $xfer_0], gpr_wrboth
  68:	 .13  alu[--, gprA_6, XOR, 0x8]
  70:	 .14  bne[.21]
  78:	 .15  immed[gprA_0, 0x0], gpr_wrboth
  80:	 .16  alu[gprA_1, --, B, gprB_23], gpr_wrboth
  88:	 .17  immed[gprA_8, 0x1], gpr_wrboth
  90:	 .18  immed[gprA_21, 0x890]
  98:	 .19  ld_field[gprA_21, 1100, gprB_8, <<16]
  a0:	 .20  mem[add_imm, $xfer_0, gprB_1, <<8, gprA_0, 1], indirect_ref
; if (ethertype == IPv6)
  a8:	 .21  immed[gprB_21, 0xdd86]
  b0:	 .22  alu[--, gprA_6, XOR, gprB_21]
  b8:	 .23  bne[.29]
; for (i = 0; i < 10; i++) nop();
  c0:	 .24  immed[gprA_8, 0x0], gpr_wrboth
  c8:	 .25  nop
  d0:	 .26  alu[gprA_8, gprA_8, +, 0x1], gpr_wrboth
  d8:	 .27  alu[--, gprA_8, XOR, 0xa]
  e0:	 .28  bne[.25]
; return XDP_PASS;
  e8:	 .29  immed[gprA_0, 0x2], gpr_wrboth
  f0:	 .30  immed[gprA_1, 0x0], gpr_wrboth
  f8:	 .31  br[.15000]
; return XDP_DROP;
 100:	 .32  immed[gprA_0, 0x1], gpr_wrboth
 108:	 .33  immed[gprA_1, 0x0], gpr_wrboth
 110:	 .34  br[.15000]
