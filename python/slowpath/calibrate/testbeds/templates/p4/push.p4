//@ include head.p4
//@ include parser.h
//@ include ingress.h
    apply {
//@ if component
//@ repeat headers as i
        h.own[${i}].setValid();
        h.own[${i}].type = ${i};
//@ end
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
