//@ include head.p4
//@ include parser.h
//@ include ingress.h
    apply {
        bit<32> value;

//@ if component
//@ repeat hashes as i
        hash(value, HashAlgorithm.crc32, 32w0, { h.key.bits }, 33w0x100000000);
        meta.sum = meta.sum + (bit<64>)value;
//@ end
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
