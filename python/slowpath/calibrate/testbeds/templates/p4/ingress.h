
control Ingress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
