control Ingress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    bit<128> address;

    action hit(bit<64> data) {
        meta.sum = meta.sum + data[63:0];
    }

    table table0 {
        key = { address: lpm; }
        actions = { hit; NoAction; }
        default_action = NoAction();
        size = 100;
    }

    apply {
        bit<32> number = h.key.bits[103:96] ++ h.key.bits[111:104] ++ h.key.bits[119:112] ++ h.key.bits[127:120];

        /* Prefixes are spread: an odd multiple, in the 32 high bits but the first one. */
        number = ((number * 2654435761) << (33 - 32)) >> 1;
        address = h.key.bits[95:80] ++ number ++ h.key.bits[79:0];
        address[127:127] = 0;
        table0.apply();
        standard.egress_spec = standard.ingress_port;
    }
}

control Egress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

