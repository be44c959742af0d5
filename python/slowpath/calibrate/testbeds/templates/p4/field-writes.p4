//@ include head.p4
//@ include parser.h
//@ include ingress.h
    apply {
//@ if component
        bit<16> value = h.ethernet0.source[15:0];

//@ if where == header
//@ repeat writes as i
        h.own[${i}].type = value;
//@ end
//@ else
//@ repeat writes as i
        meta.field${i} = value;
//@ end
//@ end
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
