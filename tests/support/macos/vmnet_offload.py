# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""What --enable-tso and --enable-checksum-offload mean on the socket between vmnet-helper and a
hypervisor.

A datagram is one raw Ethernet frame, always: nothing stands before it. vmnet-helper copies what
vmnet_read() gave and gives vmnet_write() what it received (helper.c, write_to_vm and
write_to_host, 0.11 to 0.13), and libkrun takes the guest's virtio_net_hdr off before it sends and
puts twelve zero bytes before what it receives (src/devices/src/virtio/net/unixgram.rs). So with
offload

  - the guest may send frames of up to 65550 bytes with TCP or UDP checksums that cover the
    pseudo-header only, and no header says so: vmnet finds out by itself;
  - the guest gets frames that say nothing of checksums, so those must be right.

Without --enable-tso nothing over 1514 bytes is read: the rest of a longer datagram is cut off.
A guest on QEMU's dgram netdev is offered no offload (that netdev has no vnet_hdr), so it sends
whole checksums and small frames; that is within what the other side must take.

Here a tap with IFF_VNET_HDR plays vmnet: each frame from the guest gets the header that lets the
kernel cut it up and finish its checksums.
"""

import struct

HEADER = struct.Struct("=BBHHHH")  # struct virtio_net_hdr, as a tap has it
HEADER_SIZE = HEADER.size
NONE = bytes(HEADER_SIZE)
NEEDS_CHECKSUM = 1
GSO_TCPV4, GSO_TCPV6 = 1, 4
IPV4, IPV6 = 0x0800, 0x86dd
TCP, UDP = 6, 17
ETHERNET = 14
CHECKSUM_AT = {TCP: 16, UDP: 6}


def sum_words(data):
    """The ones' complement sum, not yet inverted."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def find_transport(frame):
    """(protocol, offset, end, addresses) of what has a TCP or UDP checksum, or None."""
    if len(frame) < ETHERNET + 20:
        return None
    kind = struct.unpack_from("!H", frame, 12)[0]
    if kind == IPV4:
        whole = struct.unpack_from("!H", frame, 20)[0] & 0x3fff == 0  # not a fragment
        protocol, start, addresses = frame[23], ETHERNET + 4 * (frame[14] & 15), frame[26:34]
        end = ETHERNET + struct.unpack_from("!H", frame, 16)[0]
    elif kind == IPV6 and len(frame) >= ETHERNET + 40:
        whole, protocol, start, addresses = True, frame[20], ETHERNET + 40, frame[22:54]
        end = start + struct.unpack_from("!H", frame, 18)[0]
    else:
        return None
    header = 20 if protocol == TCP else 8
    if not whole or protocol not in CHECKSUM_AT or len(frame) < max(end, start + header):
        return None
    return protocol, start, end, addresses


def with_header(frame, mtu):
    """The frame as a tap takes it: what vmnet_write() does with an offloaded one."""
    found = find_transport(frame)
    if found is None:
        return NONE + frame
    protocol, start, end, addresses = found
    where = start + CHECKSUM_AT[protocol]
    if protocol == UDP and frame[where:where + 2] == b"\0\0":
        return NONE + frame  # sent without a checksum
    partial = sum_words(addresses + struct.pack("!HH", protocol, (end - start) & 0xffff))
    frame = frame[:where] + struct.pack("!H", partial) + frame[where + 2:]
    kind = headers = segment = 0
    if protocol == TCP and len(frame) > ETHERNET + mtu:
        kind = GSO_TCPV6 if len(addresses) == 32 else GSO_TCPV4
        headers = start + 4 * (frame[start + 12] >> 4)
        segment = ETHERNET + mtu - headers
    return HEADER.pack(NEEDS_CHECKSUM, kind, headers, segment, start,
                       CHECKSUM_AT[protocol]) + frame
