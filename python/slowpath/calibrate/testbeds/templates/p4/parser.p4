//@ include head.p4

parser Parse(packet_in packet, out headers_t h, inout metadata_t meta,
             inout standard_metadata_t standard)
{
    state start {
${extractions}
//@ if component
        transition own0;
//@ else
        transition accept;
//@ end
    }
//@ if component
//@ repeat headers as i

    state own${i} {
        packet.extract(h.own[${i}]);
        transition select(h.own[${i}].type) {
//@ repeat branches as b
            0x1000 + ${b}: reject;
//@ end
            ${type}: own${i}_end;
            default: reject;
        }
    }

    state own${i}_end {
//@ repeat fields as f
        meta.sum = meta.sum + (bit<64>)h.own[${i}].field${f};
//@ end
        transition ${next${i}};
    }
//@ end
//@ end
}
//@ include ingress.h
    apply {
        standard.egress_spec = standard.ingress_port;
    }
}
//@ include egress.h
