# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""A virtio device of QEMU's served from another process: the back end's side of vhost-user, and
split virtqueues. Format: QEMU's docs/interop/vhost-user.rst and virtio 1.2, section 2.7. No
indirect descriptors, no event index, no packed rings: none is offered."""

import mmap
import os
import select
import socket
import struct

GET_FEATURES, SET_FEATURES, SET_OWNER, RESET_OWNER, SET_MEM_TABLE = range(1, 6)
SET_VRING_NUM, SET_VRING_ADDR, SET_VRING_BASE, GET_VRING_BASE = range(8, 12)
SET_VRING_KICK, SET_VRING_CALL, SET_VRING_ERR = range(12, 15)
GET_PROTOCOL_FEATURES, SET_PROTOCOL_FEATURES = 15, 16
SET_VRING_ENABLE, GET_CONFIG = 18, 24

VERSION_1 = 1 << 32
PROTOCOL_FEATURES = 1 << 30
PROTOCOL_REPLY_ACK, PROTOCOL_CONFIG = 1 << 3, 1 << 9
NEED_REPLY = 1 << 3
NO_DESCRIPTOR = 1 << 8  # of SET_VRING_KICK and its like

NEXT, WRITE = 1, 2  # of a descriptor


class Memory:
    """The guest's memory, by its own addresses and by QEMU's."""

    def __init__(self):
        self.regions = []

    def map(self, table, descriptors):
        # Rings may still look at the old mappings; they are of the same memory.
        self.regions = []
        for (guest, size, user, offset), fd in zip(table, descriptors):
            view = memoryview(mmap.mmap(fd, offset + size))[offset:]
            os.close(fd)
            self.regions.append((guest, user, size, view))

    def at_guest(self, address, length):
        for guest, _, size, view in self.regions:
            if guest <= address and address + length <= guest + size:
                return view[address - guest:address - guest + length]
        raise ValueError(f"no memory at {address:#x}")

    def at_user(self, address, length):
        for _, user, size, view in self.regions:
            if user <= address and address + length <= user + size:
                return view[address - user:address - user + length]
        raise ValueError(f"no memory at {address:#x} of QEMU")


class Ring:
    def __init__(self, memory):
        self.memory = memory
        self.size, self.base = 0, 0
        self.kick = self.call = None
        self.descriptors = self.available = self.used = None

    def place(self, descriptors, used, available):
        self.descriptors = self.memory.at_user(descriptors, 16 * self.size)
        # As 16-bit words, so that an index is loaded and stored in one piece.
        self.available = self.memory.at_user(available, 4 + 2 * self.size).cast("H")
        self.used = self.memory.at_user(used, 4 + 8 * self.size)
        self.used_index = self.used[2:4].cast("H")

    @property
    def ready(self):
        return self.descriptors is not None and self.kick is not None

    def stop(self):
        self.descriptors = self.available = self.used = self.used_index = None
        for fd in (self.kick, self.call):
            if fd is not None:
                os.close(fd)
        self.kick = self.call = None

    def peek(self):
        """Whether the guest has put something in the ring."""
        return self.ready and self.available[1] != self.base & 0xffff

    def pop(self):
        """(head, [readable parts], [writable parts]) or None."""
        if not self.peek():
            return None
        head = index = self.available[2 + self.base % self.size]
        self.base += 1
        readable, writable = [], []
        for _ in range(self.size):
            address, length, flags, following = struct.unpack_from("<QIHH", self.descriptors,
                                                                   16 * index)
            part = self.memory.at_guest(address, length)
            (writable if flags & WRITE else readable).append(part)
            if not flags & NEXT:
                break
            index = following
        return head, readable, writable

    def push(self, head, length):
        count = self.used_index[0]
        struct.pack_into("<II", self.used, 4 + 8 * (count % self.size), head, length)
        self.used_index[0] = (count + 1) & 0xffff

    def notify(self):
        # Always: whether the guest wants it cannot be read safely without a memory barrier.
        if self.call is not None:
            os.write(self.call, struct.pack("<Q", 1))


class Backend:
    """One device over one connected socket. Subclasses have `rings`, `config`, `kicked(ring)`,
    and `started()`, which is called when the guest's driver has set up all rings."""

    def __init__(self, channel, rings):
        self.channel = channel
        self.memory = Memory()
        self.rings = [Ring(self.memory) for _ in range(rings)]
        self.config = b""
        self.poll = select.epoll()
        self.handlers = {}
        self.running = False
        self.watch(channel.fileno(), self.message)

    def watch(self, fd, handler, events=select.EPOLLIN):
        if fd in self.handlers:
            self.poll.modify(fd, events)
        else:
            self.poll.register(fd, events)
        self.handlers[fd] = handler

    def unwatch(self, fd):
        if self.handlers.pop(fd, None):
            self.poll.unregister(fd)

    def kicked(self, ring):
        raise NotImplementedError

    def started(self):
        pass

    def stopped(self):
        """The guest has reset the device."""

    def later(self):
        """Seconds until tick() is due, or None."""
        return None

    def tick(self):
        pass

    def serve(self):
        """Until QEMU closes the channel."""
        while self.channel.fileno() >= 0:
            for fd, events in self.poll.poll(self.later()):
                # An earlier event of the same batch may have ended this one.
                if fd in self.handlers:
                    self.handlers[fd](events)
            self.tick()

    def message(self, _):
        header, descriptors, _, _ = socket.recv_fds(self.channel, 12, 8)
        if len(header) < 12:
            self.unwatch(self.channel.fileno())
            self.channel.close()
            return
        request, flags, size = struct.unpack("<III", header)
        payload = b""
        while len(payload) < size:
            payload += self.channel.recv(size - len(payload))
        answer = self.answer(request, payload, descriptors)
        if answer is None and flags & NEED_REPLY:
            answer = struct.pack("<Q", 0)
        if answer is not None:
            self.channel.sendall(struct.pack("<III", request, 0x5, len(answer)) + answer)

    def answer(self, request, payload, descriptors):
        if request == GET_FEATURES:
            return struct.pack("<Q", VERSION_1 | PROTOCOL_FEATURES)
        if request == GET_PROTOCOL_FEATURES:
            return struct.pack("<Q", PROTOCOL_REPLY_ACK | PROTOCOL_CONFIG)
        if request == GET_CONFIG:
            offset, size, flags = struct.unpack_from("<III", payload)
            return struct.pack("<III", offset, size, flags) + self.config[offset:offset + size]
        if request == SET_MEM_TABLE:
            count, = struct.unpack_from("<I", payload)
            table = [struct.unpack_from("<QQQQ", payload, 8 + 32 * i) for i in range(count)]
            self.memory.map(table, descriptors)
        elif request in (SET_VRING_KICK, SET_VRING_CALL, SET_VRING_ERR):
            self.take_descriptor(request, payload, descriptors)
        elif SET_VRING_NUM <= request <= GET_VRING_BASE or request == SET_VRING_ENABLE:
            return self.change_ring(request, payload)
        return None

    def change_ring(self, request, payload):
        number, value = struct.unpack_from("<II", payload)
        ring = self.rings[number]
        if request == SET_VRING_NUM:
            ring.size = value
        elif request == SET_VRING_BASE:
            ring.base = value
        elif request == SET_VRING_ADDR:
            descriptors, used, available = struct.unpack_from("<QQQ", payload, 8)
            ring.place(descriptors, used, available)
        elif request == GET_VRING_BASE:
            if ring.kick is not None:
                self.unwatch(ring.kick)
            base = ring.base & 0xffff
            ring.stop()
            if self.running:
                self.running = False
                self.stopped()
            return struct.pack("<II", number, base)
        elif request == SET_VRING_ENABLE:
            self.start_if_ready()
        return None

    def take_descriptor(self, request, payload, descriptors):
        value, = struct.unpack("<Q", payload)
        fd = None if value & NO_DESCRIPTOR else descriptors[0]
        ring = self.rings[value & 0xff]
        if request == SET_VRING_KICK:
            ring.kick = fd
            if fd is not None:
                os.set_blocking(fd, False)
                self.watch(fd, lambda _: self.take_kick(ring))
                self.start_if_ready()
        elif request == SET_VRING_CALL:
            if ring.call is not None:
                os.close(ring.call)
            ring.call = fd
        elif fd is not None:
            os.close(fd)

    def take_kick(self, ring):
        try:
            os.read(ring.kick, 8)
        except BlockingIOError:
            pass
        if ring.ready:
            self.kicked(ring)

    def start_if_ready(self):
        if not self.running and all(ring.ready for ring in self.rings):
            self.running = True
            self.started()
            for ring in self.rings:
                self.kicked(ring)
