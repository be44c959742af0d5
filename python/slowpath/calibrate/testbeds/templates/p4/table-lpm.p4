//@ include head.p4
//@ include parser.h
//@ include ingress.h
    bit<${key_bits}> address;

//@ if component
    action hit(bit<${value_bits}> data) {
        meta.sum = meta.sum + data[63:0];
    }

//@ repeat tables as t
    table table${t} {
        key = { address: lpm; }
        actions = { hit; NoAction; }
        default_action = NoAction();
        size = ${entries};
    }

//@ end
//@ end
    apply {
        bit<32> number = ${number};

        /* Prefixes are spread: an odd multiple, in the ${own_bits} high bits but the first one. */
        number = ((number * ${spread}) << (33 - ${own_bits})) >> 1;
        address = ${address};
//@ if hit
//@ if shared
        address[${first_bit}:${first_bit}] = 0;
//@ end
//@ else
        address[${first_bit}:${first_bit}] = 1;
//@ end
//@ if component
//@ repeat tables as t
        table${t}.apply();
//@ end
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
