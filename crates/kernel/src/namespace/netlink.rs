//! Creates and changes devices in the calling thread's network namespace, with rtnetlink(7).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute,
    LinkFlags, LinkInfo, LinkMessage,
};
use rustix::net::netdevice::{index_to_name, name_to_index};
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// Size in bytes of the buffer for a reply. The reply to a failed request contains the request.
const ANSWER: usize = 4096;

/// Creates a pair of connected virtual Ethernet devices.
pub fn create_pair(names: [&str; 2]) -> io::Result<()> {
    let [mut near, far] = names.map(|name| {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        message
    });
    let peer = InfoData::Veth(InfoVeth::Peer(far));
    let info = vec![LinkInfo::Kind(InfoKind::Veth), LinkInfo::Data(peer)];
    near.attributes.push(LinkAttribute::LinkInfo(info));
    request(RouteNetlinkMessage::NewLink(near), NLM_F_CREATE | NLM_F_EXCL)
}

/// Stops the kernel from generating IPv6 addresses for a device, which it would announce on the
/// device. The device must be down.
pub fn disable_addr_gen(index: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    let none = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
    let inet6 = AfSpecUnspec::Inet6(vec![none]);
    message.attributes.push(LinkAttribute::AfSpecUnspec(vec![inet6]));
    match request(RouteNetlinkMessage::SetLink(message), 0) {
        // A kernel without IPv6 announces nothing.
        Err(cause) if cause.raw_os_error() == Some(libc::EAFNOSUPPORT) => Ok(()),
        done => done,
    }
}

/// Sets a device up (`IFF_UP`), so that it can send and receive.
pub fn set_up(index: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
    request(RouteNetlinkMessage::SetLink(message), 0)
}

/// Sets the MTU of a device, which is the maximum packet length without the Ethernet header.
pub fn set_mtu(index: u32, mtu: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes.push(LinkAttribute::Mtu(mtu));
    request(RouteNetlinkMessage::SetLink(message), 0)
}

/// Moves a device, which gets down, to another network namespace.
pub fn move_to(index: u32, namespace: BorrowedFd) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.attributes.push(LinkAttribute::NetNsFd(namespace.as_raw_fd()));
    request(RouteNetlinkMessage::SetLink(message), 0)
}

/// Removes a device. For virtual Ethernet, this also removes its peer.
pub fn remove(index: u32) -> io::Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    request(RouteNetlinkMessage::DelLink(message), 0)
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

/// Sends a request and waits for its reply, which is an acknowledgement or an error.
fn request(request: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
    let mut message = NetlinkMessage::from(request);
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    let socket = socket()?;
    sendto(&socket, &bytes, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = vec![0; ANSWER];
    let (len, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let answer = answer.get(..len).unwrap_or_default();
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(answer);
    match answer.map(|answer| answer.payload) {
        Ok(NetlinkPayload::Error(error)) if error.code.is_none() => Ok(()),
        Ok(NetlinkPayload::Error(error)) => Err(error.to_io()),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}
