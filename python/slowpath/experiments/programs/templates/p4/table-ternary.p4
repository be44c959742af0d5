//@ include head.p4
//@ include parser.h
//@ include ingress.h
//@ if component
    action hit(bit<${value_bits}> data) {
        meta.sum = meta.sum + data[63:0];
    }

    table table0 {
        key = { h.key.bits: ternary; }
        actions = { hit; NoAction; }
        default_action = NoAction();
        size = ${entries};
    }

//@ end
    apply {
//@ if component
        table0.apply();
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
