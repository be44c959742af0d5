
control Verify(inout headers_t h, inout metadata_t meta) {
    apply { }
}

control Compute(inout headers_t h, inout metadata_t meta) {
    apply { }
}

control Deparse(packet_out packet, in headers_t h) {
    apply {
        packet.emit(h);
    }
}

V1Switch(Parse(), Verify(), Ingress(), Egress(), Compute(), Deparse()) main;
