//! Creates and changes devices in the calling thread's network namespace, with rtnetlink(7).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{
    IFF_UP, IFLA_AF_SPEC, IFLA_IFNAME, IFLA_INFO_DATA, IFLA_INFO_KIND, IFLA_LINKINFO, IFLA_MTU,
    IFLA_NET_NS_FD, RTM_DELLINK, RTM_NEWLINK, RTM_SETLINK,
};
use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST,
    NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// Size in bytes of the buffer for a reply. The reply to a failed request contains the request.
const ANSWER: usize = 4096;
/// `VETH_INFO_PEER` of `linux/veth.h`.
const VETH_INFO_PEER: u16 = 1;
/// `IFLA_INET6_ADDR_GEN_MODE` of `linux/if_link.h`.
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
/// `IN6_ADDR_GEN_MODE_NONE` of `linux/if_link.h`.
const IN6_ADDR_GEN_MODE_NONE: u8 = 1;

/// Creates a pair of connected virtual Ethernet devices.
pub fn create_pair(names: [&str; 2]) -> io::Result<()> {
    let [near, far] = names.map(|name| text(IFLA_IFNAME, name));
    let peer = attribute(VETH_INFO_PEER, link(0, 0, &[far]));
    let info = [text(IFLA_INFO_KIND, "veth"), nested(IFLA_INFO_DATA, &[peer])];
    let pair = link(0, 0, &[near, nested(IFLA_LINKINFO, &info)]);
    request(RTM_NEWLINK, pair, NLM_F_CREATE | NLM_F_EXCL)
}

/// Stops the kernel from generating IPv6 addresses for a device, which it would announce on the
/// device. The device must be down.
pub fn disable_addr_gen(index: u32) -> io::Result<()> {
    let mode = attribute(IFLA_INET6_ADDR_GEN_MODE, vec![IN6_ADDR_GEN_MODE_NONE]);
    let families = nested(IFLA_AF_SPEC, &[nested(libc::AF_INET6 as u16, &[mode])]);
    match request(RTM_SETLINK, link(index, 0, &[families]), 0) {
        // A kernel without IPv6 announces nothing.
        Err(cause) if cause.raw_os_error() == Some(libc::EAFNOSUPPORT) => Ok(()),
        done => done,
    }
}

/// Sets a device up (`IFF_UP`), so that it can send and receive.
pub fn set_up(index: u32) -> io::Result<()> {
    request(RTM_SETLINK, link(index, IFF_UP as u32, &[]), 0)
}

/// Sets the MTU of a device, which is the maximum packet length without the Ethernet header.
pub fn set_mtu(index: u32, mtu: u32) -> io::Result<()> {
    let mtu = attribute(IFLA_MTU, mtu.to_ne_bytes().to_vec());
    request(RTM_SETLINK, link(index, 0, &[mtu]), 0)
}

/// Moves a device to another network namespace. The kernel sets the device down.
pub fn move_to(index: u32, namespace: BorrowedFd) -> io::Result<()> {
    let namespace = attribute(IFLA_NET_NS_FD, namespace.as_raw_fd().to_ne_bytes().to_vec());
    request(RTM_SETLINK, link(index, 0, &[namespace]), 0)
}

/// Removes a device. For virtual Ethernet, this also removes its peer.
pub fn remove(index: u32) -> io::Result<()> {
    request(RTM_DELLINK, link(index, 0, &[]), 0)
}

/// Returns the interface index of the device with this name.
pub fn index(name: &str) -> io::Result<u32> {
    Ok(name_to_index(socket()?, name)?)
}

/// Returns the name of the device with this interface index.
pub fn name(index: u32) -> io::Result<String> {
    Ok(index_to_name(socket()?, index)?)
}

fn socket() -> io::Result<rustix::fd::OwnedFd> {
    // NETLINK_ROUTE is protocol 0, which rustix expresses as `None`.
    Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?)
}

/// Encodes `struct ifinfomsg` of `linux/rtnetlink.h` and the attributes, for the device with this
/// index; the index 0 stands for a new device. `flags` are the interface flags to set.
fn link(index: u32, flags: u32, attributes: &[DefaultNla]) -> Vec<u8> {
    // The address family and the type of the device are not specified.
    let fields = [0, index, flags, flags];
    let fields = fields.iter().flat_map(|field| field.to_ne_bytes());
    fields.chain(emitted(attributes)).collect()
}

fn attribute(kind: u16, value: Vec<u8>) -> DefaultNla {
    DefaultNla::new(kind, value)
}

fn text(kind: u16, text: &str) -> DefaultNla {
    attribute(kind, [text.as_bytes(), b"\0"].concat())
}

fn nested(kind: u16, attributes: &[DefaultNla]) -> DefaultNla {
    attribute(kind, emitted(attributes))
}

fn emitted(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

/// A netlink message about a device.
struct LinkMessage {
    /// `RTM_NEWLINK`, `RTM_SETLINK` or `RTM_DELLINK`.
    kind: u16,
    /// Content of the message: the device and its attributes, as encoded by [`link`].
    bytes: Vec<u8>,
}

impl NetlinkSerializable for LinkMessage {
    fn message_type(&self) -> u16 {
        self.kind
    }

    fn buffer_len(&self) -> usize {
        self.bytes.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.bytes);
    }
}

impl NetlinkDeserializable for LinkMessage {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<LinkMessage, DecodeError> {
        Ok(LinkMessage { kind: header.message_type, bytes: payload.to_vec() })
    }
}

/// Sends a request and waits for its reply, which is an acknowledgement or an error.
fn request(kind: u16, bytes: Vec<u8>, flags: u16) -> io::Result<()> {
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    let payload = NetlinkPayload::InnerMessage(LinkMessage { kind, bytes });
    let mut message = NetlinkMessage::new(header, payload);
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    let socket = socket()?;
    sendto(&socket, &bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = vec![0; ANSWER];
    let (len, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let answer = answer.get(..len).unwrap_or_default();
    let answer = NetlinkMessage::<LinkMessage>::deserialize(answer);
    match answer.map(|answer| answer.payload) {
        Ok(NetlinkPayload::Error(error)) if error.code.is_none() => Ok(()),
        Ok(NetlinkPayload::Error(error)) => Err(error.to_io()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
