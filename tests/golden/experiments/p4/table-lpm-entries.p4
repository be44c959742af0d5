control Ingress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    bit<32> address;

    action hit(bit<64> data) {
        meta.sum = meta.sum + data[63:0];
    }

    table table0 {
        key = { address: lpm; }
        actions = { hit; NoAction; }
        default_action = NoAction();
        size = 3;
    }

    apply {
        bit<32> number = h.key.bits[7:0] ++ h.key.bits[15:8] ++ h.key.bits[23:16] ++ h.key.bits[31:24];

        /* Prefixes are spread: an odd multiple, in the 24 high bits but the first one. */
        number = ((number * 2654435761) << (33 - 24)) >> 1;
        address = number;
        table0.apply();
        standard.egress_spec = standard.ingress_port;
    }
}

control Egress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}

