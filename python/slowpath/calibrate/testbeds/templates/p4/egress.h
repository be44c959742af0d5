
control Egress(inout headers_t h, inout metadata_t meta, inout standard_metadata_t standard) {
    apply { }
}
//@ include tail.h
