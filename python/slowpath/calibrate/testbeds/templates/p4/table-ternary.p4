//@ include head.p4
//@ include parser.h
//@ include ingress.h
//@ if component
    action hit(bit<${value_bits}> data) {
        meta.sum = meta.sum + data[63:0];
    }

//@ repeat tables as t
    table table${t} {
        key = { h.key.bits: ternary; }
        actions = { hit; NoAction; }
        default_action = NoAction();
        size = ${entries};
    }

//@ end
//@ end
    apply {
//@ if component
//@ repeat tables as t
        table${t}.apply();
//@ end
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
