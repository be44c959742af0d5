//@ include head.p4
//@ include parser.h
//@ include ingress.h
    apply {
        meta.operand = (bit<64>)h.ethernet0.source | 3;
//@ if component
//@ repeat count as i
        meta.sum = ${expression};
//@ end
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
