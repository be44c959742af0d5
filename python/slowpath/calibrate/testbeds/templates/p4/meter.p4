//@ include head.p4
//@ include parser.h
//@ include ingress.h
//@ if component
//@ repeat meters as i
    meter<bit<32>>(${entries}, MeterType.bytes) meter${i};
//@ end

//@ end
    apply {
        bit<32> at = ${number};
        bit<2> color;

//@ if component
//@ repeat meters as i
        meter${i}.execute_meter(at, color);
        meta.sum = meta.sum + (bit<64>)color;
//@ end
//@ end
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
