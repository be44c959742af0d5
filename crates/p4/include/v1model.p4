// Architecture v1model of the software switch BMv2 (simple_switch). P4_16 language specification
// 1.2.4, section "Architecture description", says how an architecture is declared.

#ifndef _V1_MODEL_P4_
#define _V1_MODEL_P4_

#include <core.p4>

// Version of the architecture. From 20200408, types of ports and indices can be chosen.
#ifndef V1MODEL_VERSION
#define V1MODEL_VERSION 20180101
#endif

const bit<32> __v1model_version = V1MODEL_VERSION;

match_kind {
    range,
    optional,
    selector
}

#if V1MODEL_VERSION >= 20200408
typedef bit<9> PortId_t;
#define _V1_PORT PortId_t
#define _V1_INDEX I
#define _V1_INDEX_PARAMETER <I>
#define _V1_REGISTER_PARAMETERS <T, I>
#else
#define _V1_PORT bit<9>
#define _V1_INDEX bit<32>
#define _V1_INDEX_PARAMETER
#define _V1_REGISTER_PARAMETERS <T>
#endif

// Data about a packet that the switch reads and writes.
@metadata
@name("standard_metadata")
struct standard_metadata_t {
    _V1_PORT ingress_port;
    _V1_PORT egress_spec;
    _V1_PORT egress_port;
    bit<32> instance_type;
    bit<32> packet_length;
    @alias("queueing_metadata.enq_timestamp")
    bit<32> enq_timestamp;
    @alias("queueing_metadata.enq_qdepth")
    bit<19> enq_qdepth;
    @alias("queueing_metadata.deq_timedelta")
    bit<32> deq_timedelta;
    @alias("queueing_metadata.deq_qdepth")
    bit<19> deq_qdepth;
    @alias("intrinsic_metadata.ingress_global_timestamp")
    bit<48> ingress_global_timestamp;
    @alias("intrinsic_metadata.egress_global_timestamp")
    bit<48> egress_global_timestamp;
    @alias("intrinsic_metadata.mcast_grp")
    bit<16> mcast_grp;
    @alias("intrinsic_metadata.egress_rid")
    bit<16> egress_rid;
    bit<1> checksum_error;
    error parser_error;
    @alias("intrinsic_metadata.priority")
    bit<3> priority;
}

// Counters and meters, which only the control plane reads.

enum CounterType {
    packets,
    bytes,
    packets_and_bytes
}

enum MeterType {
    packets,
    bytes
}

extern counter _V1_INDEX_PARAMETER {
    counter(bit<32> size, CounterType type);
    void count(in _V1_INDEX index);
}

// One counter for each entry of the table whose property `counters` names it.
extern direct_counter {
    direct_counter(CounterType type);
    void count();
}

// Results of meters.
#define V1MODEL_METER_COLOR_GREEN  0
#define V1MODEL_METER_COLOR_YELLOW 1
#define V1MODEL_METER_COLOR_RED    2

extern meter _V1_INDEX_PARAMETER {
    meter(bit<32> size, MeterType type);
    void execute_meter<T>(in _V1_INDEX index, out T result);
}

// One meter for each entry of the table whose property `meters` names it.
extern direct_meter<T> {
    direct_meter(MeterType type);
    void read(out T result);
}

// An array that the program reads and writes.
extern register _V1_REGISTER_PARAMETERS {
    register(bit<32> size);
    @noSideEffects
    void read(out T result, in _V1_INDEX index);
    void write(in _V1_INDEX index, in T value);
}

// Values of the table property `implementation`: entries share actions.

extern action_profile {
    action_profile(bit<32> size);
}

enum HashAlgorithm {
    crc32,
    crc32_custom,
    crc16,
    crc16_custom,
    random,
    identity,
    csum16,
    xor16
}

extern action_selector {
    action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth);
}

// Functions of controls.

// Returns a random number from lo to hi.
extern void random<T>(out T result, in T lo, in T hi);

// Sends data to the control plane.
extern void digest<T>(in bit<32> receiver, in T data);

// Sets egress_spec to the port that drops packets.
@deprecated("the call mark_to_drop(standard_metadata) replaces it")
extern void mark_to_drop();
@pure
extern void mark_to_drop(inout standard_metadata_t standard_metadata);

// Returns base plus the remainder of a hash value divided by max.
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

// Limits the size of the packet.
extern void truncate(in bit<32> length);

// Checksums.

@deprecated("verify_checksum and update_checksum replace it")
extern Checksum16 {
    Checksum16();
    bit<16> get<D>(in D data);
}

// In control VerifyChecksum: sets checksum_error if the condition holds and the checksum differs.
extern void verify_checksum<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);
extern void verify_checksum_with_payload<T, O>(in bool condition, in T data, in O checksum,
                                               HashAlgorithm algo);

// In control ComputeChecksum: sets the checksum if the condition holds.
@pure
extern void update_checksum<T, O>(in bool condition, in T data, inout O checksum,
                                  HashAlgorithm algo);
@noSideEffects
extern void update_checksum_with_payload<T, O>(in bool condition, in T data, inout O checksum,
                                               HashAlgorithm algo);

// Further rounds of a packet. An index preserves the fields with this index in @field_list.

enum CloneType {
    I2E,
    E2E
}

extern void clone(in CloneType type, in bit<32> session);
extern void clone_preserving_field_list(in CloneType type, in bit<32> session, bit<8> index);
extern void resubmit_preserving_field_list(bit<8> index);
extern void recirculate_preserving_field_list(bit<8> index);

@deprecated("clone_preserving_field_list replaces it")
extern void clone3<T>(in CloneType type, in bit<32> session, in T data);
@deprecated("resubmit_preserving_field_list replaces it")
extern void resubmit<T>(in T data);
@deprecated("recirculate_preserving_field_list replaces it")
extern void recirculate<T>(in T data);

// Tests and messages.

extern void assert(in bool check);
extern void assume(in bool check);
extern void log_msg(string msg);
extern void log_msg<T>(string msg, in T data);

// Programmable blocks, in the order in which a packet passes them.

parser Parser<H, M>(packet_in b,
                    out H parsedHdr,
                    inout M meta,
                    inout standard_metadata_t standard_metadata);

control VerifyChecksum<H, M>(inout H hdr, inout M meta);

@pipeline
control Ingress<H, M>(inout H hdr,
                      inout M meta,
                      inout standard_metadata_t standard_metadata);

@pipeline
control Egress<H, M>(inout H hdr,
                     inout M meta,
                     inout standard_metadata_t standard_metadata);

control ComputeChecksum<H, M>(inout H hdr, inout M meta);

@deparser
control Deparser<H>(packet_out b, in H hdr);

package V1Switch<H, M>(Parser<H, M> p,
                       VerifyChecksum<H, M> vr,
                       Ingress<H, M> ig,
                       Egress<H, M> eg,
                       ComputeChecksum<H, M> ck,
                       Deparser<H> dep);

#undef _V1_PORT
#undef _V1_INDEX
#undef _V1_INDEX_PARAMETER
#undef _V1_REGISTER_PARAMETERS

#endif
