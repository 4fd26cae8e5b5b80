# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""A virtio-vsock device, with the unix sockets that krunkit and vfkit join to its ports.

What the two do differently, which is what our program has to live with:

krunkit: libkrun 1.18.0, src/devices/src/virtio/vsock/{muxer,muxer_thread,unix,reaper}.rs
    - the sockets of `connect` are made when the guest's driver starts the device, and one whose
      file is there already is left out (krun_add_vsock_port2 has refused the VM before that);
    - a guest that connects to a port of `listen` is told yes before anybody has answered at the
      unix socket, and is never told that nobody does: what it sends is lost;
    - a guest that connects to any other port is told nothing;
    - the end of what the host sends resets the connection for the guest, so that the answer to
      a client that has shut down its sending side is lost;
    - a connection that the guest resets is closed for the host five seconds later.
vfkit: pkg/vf/vsock.go with inetaf/tcpproxy c4b9df066048 and Virtualization.framework
    - the sockets are made when the VM runs; one whose file is there is left out, with a warning;
    - a guest that connects to a port of `listen` is told yes, and the connection is closed when
      the unix socket does not answer; any other port is refused;
    - the end of what the host sends is not passed on: the guest's end stays open until the guest
      closes it, or sends something after the host has gone.
"""

import collections
import contextlib
import select
import socket
import struct
import time

from vhost_user import Backend

HOST, GUEST = 2, 3  # context ids
REQUEST, RESPONSE, RST, SHUTDOWN, RW, CREDIT_UPDATE, CREDIT_REQUEST = range(1, 8)
NO_RECEIVE, NO_SEND = 1, 2  # of SHUTDOWN
STREAM = 1
HEADER = struct.Struct("<QQIIIHHIII")
WINDOW = 256 * 1024
CHUNK = 64 * 1024

Style = collections.namedtuple("Style", (
    "early",         # the sockets are there as soon as the VM runs
    "lies",          # says yes to the guest before the host has answered, and leaves it at that
    "silent",        # says nothing to a guest that connects to a port which nobody has
    "eof_resets",    # the end of what the host sends resets the guest's connection
    "linger"))       # seconds until the host hears of a reset by the guest
KRUNKIT = Style(early=False, lies=True, silent=True, eof_resets=True, linger=5)
VFKIT = Style(early=True, lies=False, silent=False, eof_resets=False, linger=0)


class Connection:
    def __init__(self, guest_port, host_port, sock):
        self.key = (guest_port, host_port)
        self.sock = sock
        self.open = False        # the guest has agreed
        self.host_ended = False  # nothing more comes from the host
        self.last = None         # what to do when `unsent` is with the host
        self.unsent = bytearray()
        self.peer_window = self.peer_read = 0
        self.sent = self.read = self.told = 0

    @property
    def credit(self):
        return self.peer_window - ((self.sent - self.peer_read) & 0xffffffff)


class Vsock(Backend):
    """`listen` and `connect`: {port: path of the unix socket}."""

    def __init__(self, channel, style, listen, connect, say):
        super().__init__(channel, 2)
        self.config = struct.pack("<Q", GUEST)
        self.style, self.listen, self.connect, self.say = style, listen, connect, say
        self.connections = {}
        self.control = collections.deque()  # packets that wait for room in the guest's ring
        self.lingering = []                 # (when, socket)
        self.next_port = 1 << 30
        self.made = False
        if style.early:
            self.make_sockets()

    # --- the host's side -------------------------------------------------------------------------

    def started(self):
        self.make_sockets()

    def make_sockets(self):
        if self.made:
            return
        self.made = True
        for port, path in self.connect.items():
            server = socket.socket(socket.AF_UNIX)
            try:
                server.bind(path)
            except OSError as error:
                self.say(f"cannot make the socket of vsock port {port} at {path}: {error}")
                continue
            server.listen(5)
            server.setblocking(False)
            self.watch(server.fileno(), lambda _, s=server, p=port: self.accept(s, p))

    def accept(self, server, guest_port):
        try:
            sock, _ = server.accept()
        except OSError:
            return
        if not self.running:
            sock.close()  # no driver in the guest yet
            return
        self.next_port += 1
        connection = self.add(guest_port, self.next_port, sock)
        self.queue(connection, REQUEST)

    def add(self, guest_port, host_port, sock):
        sock.setblocking(False)
        connection = Connection(guest_port, host_port, sock)
        self.connections[connection.key] = connection
        return connection

    def interest(self, connection):
        """Watches for what can be done now."""
        fd, events = connection.sock.fileno(), 0
        if fd < 0:
            return
        if connection.open and not connection.host_ended and connection.credit > 0 \
                and self.rings[0].peek():
            events |= select.EPOLLIN
        if connection.unsent:
            events |= select.EPOLLOUT
        if events:
            self.watch(fd, lambda e, c=connection: self.ready(c, e), events)
        else:
            self.unwatch(fd)

    def ready(self, connection, events):
        if events & select.EPOLLOUT:
            self.send_to_host(connection)
        if events & (select.EPOLLIN | select.EPOLLHUP) and connection.open \
                and not connection.host_ended and connection.sock.fileno() >= 0:
            self.read_from_host(connection)
        self.interest(connection)

    def send_to_host(self, connection):
        try:
            count = connection.sock.send(connection.unsent)
        except BlockingIOError:
            return
        except OSError:
            self.reset(connection)
            return
        del connection.unsent[:count]
        connection.read += count
        if connection.read - connection.told >= WINDOW // 2:
            self.queue(connection, CREDIT_UPDATE)
        self.do_last(connection)

    def when_sent(self, connection, action):
        connection.last = action
        self.do_last(connection)

    def do_last(self, connection):
        if connection.last and not connection.unsent:
            action, connection.last = connection.last, None
            action(connection)

    def read_from_host(self, connection):
        while connection.credit > 0 and not self.control:
            chain = self.rings[0].pop()
            if not chain:
                return
            head, _, parts = chain
            room = min(sum(map(len, parts)) - HEADER.size, connection.credit, CHUNK)
            try:
                data = connection.sock.recv(room)
            except BlockingIOError:
                self.rings[0].base -= 1
                return
            except OSError:
                data = b""
            if not data:
                self.rings[0].base -= 1
                self.end_of_host(connection)
                return
            connection.sent += len(data)
            self.fill(head, parts, self.header(connection, RW, len(data)) + data)

    def end_of_host(self, connection):
        connection.host_ended = True
        if self.style.eof_resets:
            self.queue(connection, RST)

    def close(self, connection):
        """Forgets it, and lets the host know."""
        self.connections.pop(connection.key, None)
        self.unwatch(connection.sock.fileno())
        connection.sock.close()

    def reset(self, connection):
        self.queue(connection, RST)
        self.close(connection)

    # --- the guest's side ------------------------------------------------------------------------

    def header(self, connection, op, length=0, flags=0):
        connection.told = connection.read
        guest_port, host_port = connection.key
        return HEADER.pack(HOST, GUEST, host_port, guest_port, length, STREAM, op, flags, WINDOW,
                           connection.read & 0xffffffff)

    def queue(self, connection, op):
        self.control.append(self.header(connection, op))
        self.flush()

    def refuse(self, guest_port, host_port):
        self.control.append(HEADER.pack(HOST, GUEST, host_port, guest_port, 0, STREAM, RST, 0, 0, 0))
        self.flush()

    def fill(self, head, parts, packet):
        length = len(packet)
        for part in parts:
            piece, packet = packet[:len(part)], packet[len(part):]
            part[:len(piece)] = piece
        self.rings[0].push(head, length)
        self.rings[0].notify()

    def flush(self):
        while self.control and (chain := self.rings[0].pop()):
            head, _, parts = chain
            self.fill(head, parts, self.control.popleft())

    def kicked(self, ring):
        if ring is self.rings[0]:
            self.flush()
        else:
            while chain := ring.pop():
                head, parts, _ = chain
                packet = b"".join(parts)
                ring.push(head, 0)
                self.packet(packet)
            ring.notify()
        for connection in list(self.connections.values()):
            self.interest(connection)

    def packet(self, packet):
        if len(packet) < HEADER.size:
            return
        _, target, guest_port, host_port, length, _, op, flags, window, read = \
            HEADER.unpack_from(packet)
        connection = self.connections.get((guest_port, host_port))
        if target != HOST:
            return
        if op == REQUEST:
            self.request(guest_port, host_port, window, read)
        elif not connection:
            if op not in (RST, SHUTDOWN):
                self.refuse(guest_port, host_port)
        else:
            connection.peer_window, connection.peer_read = window, read
            self.act(connection, op, flags, packet[HEADER.size:HEADER.size + length])

    def act(self, connection, op, flags, data):
        if op == RESPONSE:
            connection.open = True
        elif op == RW and connection.sock.fileno() >= 0:
            connection.unsent += data
            self.send_to_host(connection)
        elif op == CREDIT_REQUEST:
            self.queue(connection, CREDIT_UPDATE)
        elif op == SHUTDOWN:
            self.shut_down(connection, flags)
        elif op == RST:
            self.reset_by_guest(connection)

    def request(self, guest_port, host_port, window, read):
        path = self.listen.get(host_port)
        if path is None:
            if not self.style.silent:
                self.refuse(guest_port, host_port)
            return
        connection = self.add(guest_port, host_port, socket.socket(socket.AF_UNIX))
        connection.peer_window, connection.peer_read = window, read
        self.queue(connection, RESPONSE)
        try:
            connection.sock.connect(path)
            connection.open = True
        except OSError:
            if not self.style.lies:
                self.reset(connection)
            else:
                connection.sock.close()

    def shut_down(self, connection, flags):
        if flags & NO_SEND and flags & NO_RECEIVE:
            # The guest has closed it, and waits for a reset.
            self.queue(connection, RST)
            self.when_sent(connection, self.close)
        elif flags & NO_SEND:
            self.when_sent(connection, self.end_of_guest)

    def end_of_guest(self, connection):
        with contextlib.suppress(OSError):
            connection.sock.shutdown(socket.SHUT_WR)

    def reset_by_guest(self, connection):
        self.connections.pop(connection.key, None)
        self.when_sent(connection, self.linger)

    def linger(self, connection):
        self.unwatch(connection.sock.fileno())
        self.lingering.append((time.monotonic() + self.style.linger, connection.sock))

    def stopped(self):
        for connection in list(self.connections.values()):
            self.close(connection)
        self.control.clear()

    def later(self):
        return max(0, self.lingering[0][0] - time.monotonic()) if self.lingering else None

    def tick(self):
        while self.lingering and self.lingering[0][0] <= time.monotonic():
            self.lingering.pop(0)[1].close()
