; 12 option bytes, each checked for the value 6 and later for the value 17.
;
; Every path that does both kinds of work for the same byte is impossible: a byte is 6 or 17 or
; neither. The slowest path of the graph does all the work, 558 cycles; slowest satisfiable: all
; bytes are 6, 498 cycles, because that work takes longer. 1,323,503 paths are slower, and none of
; them can be taken: too many to refute one by one, but 12 contradictions of two branches each
; refute them all.
; On 50 cores all paths are faster than the MAC of the card lets packets in; try --cores 5.
   0:	  .0  immed[gprB_22, 0x3fff]
   8:	  .1  alu[gprB_22, gprB_22, AND, *l$index1]
  10:	  .2  alu[gprA_4, gprB_22, +, *l$index1[2]], gpr_wrboth
  18:	  .3  immed[gprA_5, 0x0], gpr_wrboth
  20:	  .4  alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth
  28:	  .5  immed[gprA_3, 0x0], gpr_wrboth
; 12 option bytes behind the Ethernet header
  30:	  .6  alu[gprA_6, gprA_2, +, 0x1a], gpr_wrboth
  38:	  .7  alu[gprA_7, gprA_3, +carry, 0x0], gpr_wrboth
  40:	  .8  alu[--, gprA_4, -, gprB_6]
  48:	  .9  alu[--, gprA_5, -carry, gprB_7]
  50:	 .10  bcc[.324]
  58:	 .11  mem[read32_swap, $xfer_0, gprA_2, 0xe, 3], ctx_swap[sig1]
; if (option[0] == 6) work of 12 cycles
  60:	 .12  ld_field_w_clr[gprA_6, 0001, $xfer_0], gpr_wrboth
  68:	 .13  alu[--, gprA_6, XOR, 0x6]
  70:	 .14  bne[.27]
  78:	 .15  nop
  80:	 .16  nop
  88:	 .17  nop
  90:	 .18  nop
  98:	 .19  nop
  a0:	 .20  nop
  a8:	 .21  nop
  b0:	 .22  nop
  b8:	 .23  nop
  c0:	 .24  nop
  c8:	 .25  nop
  d0:	 .26  nop
; if (option[1] == 6) work of 12 cycles
  d8:	 .27  ld_field_w_clr[gprA_6, 0001, $xfer_0, >>8], gpr_wrboth
  e0:	 .28  alu[--, gprA_6, XOR, 0x6]
  e8:	 .29  bne[.42]
  f0:	 .30  nop
  f8:	 .31  nop
 100:	 .32  nop
 108:	 .33  nop
 110:	 .34  nop
 118:	 .35  nop
 120:	 .36  nop
 128:	 .37  nop
 130:	 .38  nop
 138:	 .39  nop
 140:	 .40  nop
 148:	 .41  nop
; if (option[2] == 6) work of 12 cycles
 150:	 .42  ld_field_w_clr[gprA_6, 0001, $xfer_0, >>16], gpr_wrboth
 158:	 .43  alu[--, gprA_6, XOR, 0x6]
 160:	 .44  bne[.57]
 168:	 .45  nop
 170:	 .46  nop
 178:	 .47  nop
 180:	 .48  nop
 188:	 .49  nop
 190:	 .50  nop
 198:	 .51  nop
 1a0:	 .52  nop
 1a8:	 .53  nop
 1b0:	 .54  nop
 1b8:	 .55  nop
 1c0:	 .56  nop
; if (option[3] == 6) work of 12 cycles
 1c8:	 .57  ld_field_w_clr[gprA_6, 0001, $xfer_0, >>24], gpr_wrboth
 1d0:	 .58  alu[--, gprA_6, XOR, 0x6]
 1d8:	 .59  bne[.72]
 1e0:	 .60  nop
 1e8:	 .61  nop
 1f0:	 .62  nop
 1f8:	 .63  nop
 200:	 .64  nop
 208:	 .65  nop
 210:	 .66  nop
 218:	 .67  nop
 220:	 .68  nop
 228:	 .69  nop
 230:	 .70  nop
 238:	 .71  nop
; if (option[4] == 6) work of 12 cycles
 240:	 .72  ld_field_w_clr[gprA_6, 0001, $xfer_1], gpr_wrboth
 248:	 .73  alu[--, gprA_6, XOR, 0x6]
 250:	 .74  bne[.87]
 258:	 .75  nop
 260:	 .76  nop
 268:	 .77  nop
 270:	 .78  nop
 278:	 .79  nop
 280:	 .80  nop
 288:	 .81  nop
 290:	 .82  nop
 298:	 .83  nop
 2a0:	 .84  nop
 2a8:	 .85  nop
 2b0:	 .86  nop
; if (option[5] == 6) work of 12 cycles
 2b8:	 .87  ld_field_w_clr[gprA_6, 0001, $xfer_1, >>8], gpr_wrboth
 2c0:	 .88  alu[--, gprA_6, XOR, 0x6]
 2c8:	 .89  bne[.102]
 2d0:	 .90  nop
 2d8:	 .91  nop
 2e0:	 .92  nop
 2e8:	 .93  nop
 2f0:	 .94  nop
 2f8:	 .95  nop
 300:	 .96  nop
 308:	 .97  nop
 310:	 .98  nop
 318:	 .99  nop
 320:	.100  nop
 328:	.101  nop
; if (option[6] == 6) work of 12 cycles
 330:	.102  ld_field_w_clr[gprA_6, 0001, $xfer_1, >>16], gpr_wrboth
 338:	.103  alu[--, gprA_6, XOR, 0x6]
 340:	.104  bne[.117]
 348:	.105  nop
 350:	.106  nop
 358:	.107  nop
 360:	.108  nop
 368:	.109  nop
 370:	.110  nop
 378:	.111  nop
 380:	.112  nop
 388:	.113  nop
 390:	.114  nop
 398:	.115  nop
 3a0:	.116  nop
; if (option[7] == 6) work of 12 cycles
 3a8:	.117  ld_field_w_clr[gprA_6, 0001, $xfer_1, >>24], gpr_wrboth
 3b0:	.118  alu[--, gprA_6, XOR, 0x6]
 3b8:	.119  bne[.132]
 3c0:	.120  nop
 3c8:	.121  nop
 3d0:	.122  nop
 3d8:	.123  nop
 3e0:	.124  nop
 3e8:	.125  nop
 3f0:	.126  nop
 3f8:	.127  nop
 400:	.128  nop
 408:	.129  nop
 410:	.130  nop
 418:	.131  nop
; if (option[8] == 6) work of 12 cycles
 420:	.132  ld_field_w_clr[gprA_6, 0001, $xfer_2], gpr_wrboth
 428:	.133  alu[--, gprA_6, XOR, 0x6]
 430:	.134  bne[.147]
 438:	.135  nop
 440:	.136  nop
 448:	.137  nop
 450:	.138  nop
 458:	.139  nop
 460:	.140  nop
 468:	.141  nop
 470:	.142  nop
 478:	.143  nop
 480:	.144  nop
 488:	.145  nop
 490:	.146  nop
; if (option[9] == 6) work of 12 cycles
 498:	.147  ld_field_w_clr[gprA_6, 0001, $xfer_2, >>8], gpr_wrboth
 4a0:	.148  alu[--, gprA_6, XOR, 0x6]
 4a8:	.149  bne[.162]
 4b0:	.150  nop
 4b8:	.151  nop
 4c0:	.152  nop
 4c8:	.153  nop
 4d0:	.154  nop
 4d8:	.155  nop
 4e0:	.156  nop
 4e8:	.157  nop
 4f0:	.158  nop
 4f8:	.159  nop
 500:	.160  nop
 508:	.161  nop
; if (option[10] == 6) work of 12 cycles
 510:	.162  ld_field_w_clr[gprA_6, 0001, $xfer_2, >>16], gpr_wrboth
 518:	.163  alu[--, gprA_6, XOR, 0x6]
 520:	.164  bne[.177]
 528:	.165  nop
 530:	.166  nop
 538:	.167  nop
 540:	.168  nop
 548:	.169  nop
 550:	.170  nop
 558:	.171  nop
 560:	.172  nop
 568:	.173  nop
 570:	.174  nop
 578:	.175  nop
 580:	.176  nop
; if (option[11] == 6) work of 12 cycles
 588:	.177  ld_field_w_clr[gprA_6, 0001, $xfer_2, >>24], gpr_wrboth
 590:	.178  alu[--, gprA_6, XOR, 0x6]
 598:	.179  bne[.192]
 5a0:	.180  nop
 5a8:	.181  nop
 5b0:	.182  nop
 5b8:	.183  nop
 5c0:	.184  nop
 5c8:	.185  nop
 5d0:	.186  nop
 5d8:	.187  nop
 5e0:	.188  nop
 5e8:	.189  nop
 5f0:	.190  nop
 5f8:	.191  nop
; if (option[0] == 17) work of 8 cycles
 600:	.192  ld_field_w_clr[gprA_6, 0001, $xfer_0], gpr_wrboth
 608:	.193  alu[--, gprA_6, XOR, 0x11]
 610:	.194  bne[.203]
 618:	.195  nop
 620:	.196  nop
 628:	.197  nop
 630:	.198  nop
 638:	.199  nop
 640:	.200  nop
 648:	.201  nop
 650:	.202  nop
; if (option[1] == 17) work of 8 cycles
 658:	.203  ld_field_w_clr[gprA_6, 0001, $xfer_0, >>8], gpr_wrboth
 660:	.204  alu[--, gprA_6, XOR, 0x11]
 668:	.205  bne[.214]
 670:	.206  nop
 678:	.207  nop
 680:	.208  nop
 688:	.209  nop
 690:	.210  nop
 698:	.211  nop
 6a0:	.212  nop
 6a8:	.213  nop
; if (option[2] == 17) work of 8 cycles
 6b0:	.214  ld_field_w_clr[gprA_6, 0001, $xfer_0, >>16], gpr_wrboth
 6b8:	.215  alu[--, gprA_6, XOR, 0x11]
 6c0:	.216  bne[.225]
 6c8:	.217  nop
 6d0:	.218  nop
 6d8:	.219  nop
 6e0:	.220  nop
 6e8:	.221  nop
 6f0:	.222  nop
 6f8:	.223  nop
 700:	.224  nop
; if (option[3] == 17) work of 8 cycles
 708:	.225  ld_field_w_clr[gprA_6, 0001, $xfer_0, >>24], gpr_wrboth
 710:	.226  alu[--, gprA_6, XOR, 0x11]
 718:	.227  bne[.236]
 720:	.228  nop
 728:	.229  nop
 730:	.230  nop
 738:	.231  nop
 740:	.232  nop
 748:	.233  nop
 750:	.234  nop
 758:	.235  nop
; if (option[4] == 17) work of 8 cycles
 760:	.236  ld_field_w_clr[gprA_6, 0001, $xfer_1], gpr_wrboth
 768:	.237  alu[--, gprA_6, XOR, 0x11]
 770:	.238  bne[.247]
 778:	.239  nop
 780:	.240  nop
 788:	.241  nop
 790:	.242  nop
 798:	.243  nop
 7a0:	.244  nop
 7a8:	.245  nop
 7b0:	.246  nop
; if (option[5] == 17) work of 8 cycles
 7b8:	.247  ld_field_w_clr[gprA_6, 0001, $xfer_1, >>8], gpr_wrboth
 7c0:	.248  alu[--, gprA_6, XOR, 0x11]
 7c8:	.249  bne[.258]
 7d0:	.250  nop
 7d8:	.251  nop
 7e0:	.252  nop
 7e8:	.253  nop
 7f0:	.254  nop
 7f8:	.255  nop
 800:	.256  nop
 808:	.257  nop
; if (option[6] == 17) work of 8 cycles
 810:	.258  ld_field_w_clr[gprA_6, 0001, $xfer_1, >>16], gpr_wrboth
 818:	.259  alu[--, gprA_6, XOR, 0x11]
 820:	.260  bne[.269]
 828:	.261  nop
 830:	.262  nop
 838:	.263  nop
 840:	.264  nop
 848:	.265  nop
 850:	.266  nop
 858:	.267  nop
 860:	.268  nop
; if (option[7] == 17) work of 8 cycles
 868:	.269  ld_field_w_clr[gprA_6, 0001, $xfer_1, >>24], gpr_wrboth
 870:	.270  alu[--, gprA_6, XOR, 0x11]
 878:	.271  bne[.280]
 880:	.272  nop
 888:	.273  nop
 890:	.274  nop
 898:	.275  nop
 8a0:	.276  nop
 8a8:	.277  nop
 8b0:	.278  nop
 8b8:	.279  nop
; if (option[8] == 17) work of 8 cycles
 8c0:	.280  ld_field_w_clr[gprA_6, 0001, $xfer_2], gpr_wrboth
 8c8:	.281  alu[--, gprA_6, XOR, 0x11]
 8d0:	.282  bne[.291]
 8d8:	.283  nop
 8e0:	.284  nop
 8e8:	.285  nop
 8f0:	.286  nop
 8f8:	.287  nop
 900:	.288  nop
 908:	.289  nop
 910:	.290  nop
; if (option[9] == 17) work of 8 cycles
 918:	.291  ld_field_w_clr[gprA_6, 0001, $xfer_2, >>8], gpr_wrboth
 920:	.292  alu[--, gprA_6, XOR, 0x11]
 928:	.293  bne[.302]
 930:	.294  nop
 938:	.295  nop
 940:	.296  nop
 948:	.297  nop
 950:	.298  nop
 958:	.299  nop
 960:	.300  nop
 968:	.301  nop
; if (option[10] == 17) work of 8 cycles
 970:	.302  ld_field_w_clr[gprA_6, 0001, $xfer_2, >>16], gpr_wrboth
 978:	.303  alu[--, gprA_6, XOR, 0x11]
 980:	.304  bne[.313]
 988:	.305  nop
 990:	.306  nop
 998:	.307  nop
 9a0:	.308  nop
 9a8:	.309  nop
 9b0:	.310  nop
 9b8:	.311  nop
 9c0:	.312  nop
; if (option[11] == 17) work of 8 cycles
 9c8:	.313  ld_field_w_clr[gprA_6, 0001, $xfer_2, >>24], gpr_wrboth
 9d0:	.314  alu[--, gprA_6, XOR, 0x11]
 9d8:	.315  bne[.324]
 9e0:	.316  nop
 9e8:	.317  nop
 9f0:	.318  nop
 9f8:	.319  nop
 a00:	.320  nop
 a08:	.321  nop
 a10:	.322  nop
 a18:	.323  nop
 a20:	.324  immed[gprA_0, 0x2], gpr_wrboth
 a28:	.325  immed[gprA_1, 0x0], gpr_wrboth
 a30:	.326  br[.15000]
