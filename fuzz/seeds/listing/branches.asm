; the length of the packet decides
   0:	.0  immed[gprB_22, 0x3fff]
   8:	.1  alu[gprB_22, gprB_22, AND, *l$index1]
  10:	.2  alu[--, gprB_22, -, 0x64]
  18:	.3  bcc[.6]
  20:	.4  br[.15000], defer[1]
  28:	.5  immed[gprA_0, 0x1], gpr_wrboth
  30:	.6  br[.15000]
