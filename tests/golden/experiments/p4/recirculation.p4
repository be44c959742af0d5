control Ingress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        standard.egress_spec = standard.ingress_port;
    }
}

/* What has gone through the egress stage goes back to the ingress stage. */
control Egress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    apply {
        if (meta.passes < 3) {
            meta.passes = meta.passes + 1;
            recirculate_preserving_field_list(0);
        }
    }
}

