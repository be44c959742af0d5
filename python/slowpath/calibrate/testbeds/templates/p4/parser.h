
parser Parse(packet_in packet, out headers_t h, inout metadata_t meta,
             inout standard_metadata_t standard)
{
    state start {
${extractions}
        transition accept;
    }
}
