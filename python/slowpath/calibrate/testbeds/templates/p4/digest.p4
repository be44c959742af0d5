//@ include head.p4
//@ include parser.h

/* A record for the control plane. */
struct record_t {
//@ repeat words as i
    bit<64> word${i};
//@ end
}
//@ include ingress.h
    apply {
        record_t record;

//@ repeat words as i
        record.word${i} = (bit<64>)h.ethernet0.source;
//@ end
//@ if component
//@ repeat digests as i
        digest<record_t>(1, record);
//@ end
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
