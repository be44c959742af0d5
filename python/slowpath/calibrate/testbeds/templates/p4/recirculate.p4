//@ include head.p4
//@ include parser.h
//@ include ingress.h
    apply {
        standard.egress_spec = standard.ingress_port;
    }
}

/* What has gone through the egress stage goes back to the ingress stage. */
control Egress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
//@ if component
        if (meta.passes < ${passes}) {
            meta.passes = meta.passes + 1;
            recirculate_preserving_field_list(0);
        }
//@ end
    }
}
//@ include tail.h
