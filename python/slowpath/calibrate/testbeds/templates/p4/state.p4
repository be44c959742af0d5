//@ include head.p4
//@ include parser.h
//@ include ingress.h
//@ if component
//@ repeat accesses as i
    register<bit<64>>(${entries}) state${i};
//@ end

//@ end
    apply {
        bit<32> at = ${number};
        bit<64> value = 1;

//@ if component
//@ repeat accesses as i
//@ if operation == read
        state${i}.read(value, at);
        meta.sum = meta.sum + value;
//@ end
//@ if operation == write
        state${i}.write(at, value);
//@ end
//@ if operation == atomic-add
        @atomic {
            state${i}.read(value, at);
            state${i}.write(at, value + 1);
        }
//@ end
//@ end
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
