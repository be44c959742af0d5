#!/bin/sh
# Runs a command in a network of its own, in which bpf_fib_lookup finds a way for every packet: a
# device with a default route and the address of the next hop, and forwarding switched on.
#
#   bench/replay/network.sh COMMAND [ARGUMENT...]
set -eu
if [ "${1-}" != "--inside" ]; then
    exec unshare --net -- "$0" --inside "$@"
fi
shift
hop=02:00:00:00:00:01
# No packet is too long, whatever it says about itself.
ip link add name out mtu 65535 type veth peer name far mtu 65535
ip link set dev lo up
ip link set dev far up
ip link set dev out up
ip address add 198.18.0.2/24 dev out
ip -6 address add fd00::2/64 dev out nodad
ip neighbour add 198.18.0.1 lladdr $hop dev out nud permanent
ip -6 neighbour add fd00::1 lladdr $hop dev out nud permanent
ip route add default via 198.18.0.1 dev out
ip -6 route add default via fd00::1 dev out
for switch in ipv4/conf/all/forwarding ipv4/conf/lo/forwarding ipv6/conf/all/forwarding; do
    echo 1 > "/proc/sys/net/$switch"
done
exec "$@"
