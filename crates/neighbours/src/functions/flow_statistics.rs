//! Counts the packets and bytes of each flow.

use crate::header::{Header, flow, length};
use crate::stage::{Stage, Verdict};
use crate::tables::FlowTable;

/// Packet and byte counts of one flow. The fields `shortest` and `longest` are packet lengths in
/// bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub packets: u64,
    pub bytes: u64,
    pub shortest: u32,
    pub longest: u32,
    /// Index of the flow's first packet, counted over the packets of all flows.
    pub first: u64,
    /// Index of the flow's last packet, counted over the packets of all flows.
    pub last: u64,
}

/// A table with the counts of each flow.
#[derive(Debug, Default)]
pub struct FlowStatistics {
    flows: FlowTable<Record>,
    packets: u64,
}

impl Stage for FlowStatistics {
    fn process(&mut self, header: &mut Header) -> Verdict {
        let (bytes, number) = (length(header), self.packets);
        self.packets += 1;
        let new = Record { shortest: bytes, first: number, ..Record::default() };
        let record = self.flows.entry(flow(header)).or_insert(new);
        record.packets += 1;
        record.bytes += u64::from(bytes);
        record.shortest = record.shortest.min(bytes);
        record.longest = record.longest.max(bytes);
        record.last = number;
        Verdict::Pass
    }
}

#[cfg(test)]
mod tests {
    use super::{FlowStatistics, Record};
    use crate::header::udp_headers;
    use crate::stage::Stage;
    use crate::traffic::flow_of;

    #[test]
    fn records_are_those_of_the_packets() {
        let mut stage = FlowStatistics::default();
        for (number, length) in [(1, 10), (2, 20), (1, 30), (1, 5)] {
            stage.process(&mut udp_headers(&flow_of(number, 0), length, 0));
        }
        let first =
            Record { packets: 3, bytes: 45 + 3 * 42, shortest: 47, longest: 72, first: 0, last: 3 };
        assert_eq!(stage.flows[&flow_of(1, 0)], first);
        assert_eq!(stage.flows[&flow_of(2, 0)].packets, 1);
        assert_eq!(stage.flows.len(), 2);
    }
}
