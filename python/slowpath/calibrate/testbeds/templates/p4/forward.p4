//@ include head.p4
//@ include parser.h
//@ include ingress.h
    apply {
//@ if component
        bit<48> source = h.ethernet0.source;

        h.ethernet0.source = h.ethernet0.destination;
        h.ethernet0.destination = source;
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
