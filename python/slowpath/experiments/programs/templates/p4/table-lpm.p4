//@ include head.p4
//@ include parser.h
//@ include ingress.h
    bit<32> address;

//@ if component
    action hit(bit<${value_bits}> data) {
        meta.sum = meta.sum + data[63:0];
    }

    table table0 {
        key = { address: lpm; }
        actions = { hit; NoAction; }
        default_action = NoAction();
        size = ${entries};
    }

//@ end
    apply {
        bit<32> number = ${number};

        /* Prefixes are spread: an odd multiple, in the ${prefix_bits} high bits but the first one. */
        address = ((number * ${spread}) << (33 - ${prefix_bits})) >> 1;
//@ if not hit
        address[31:31] = 1;
//@ end
//@ if component
        table0.apply();
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
