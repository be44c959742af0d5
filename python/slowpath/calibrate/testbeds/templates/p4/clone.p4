//@ include head.p4
//@ include parser.h
//@ include ingress.h
    apply {
//@ if component
//@ repeat clones as i
        clone(CloneType.I2E, 32w${i});
//@ end
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
