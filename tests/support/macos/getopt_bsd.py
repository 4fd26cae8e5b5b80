# SPDX-FileCopyrightText: The podman-machine-vmnet authors
# SPDX-License-Identifier: Apache-2.0
"""getopt_long() as macOS has it (FreeBSD's), one option at a time, because a program acts on each
before it looks at the next: operands are moved behind the options, a long name may be shortened
as long as it is unique, a value is the next word whatever it looks like, and -- ends it all.
"""


class Unknown(Exception):
    """'?': no such option, or an ambiguous one, or a value that is not wanted."""


class Missing(Exception):
    """':': an option without the value that it needs."""


class Parser:
    """`shorts` as in "vhf:", `longs` maps a name to whether it takes a value. Iterating gives
    (option, value, word): the option as its long name or letter, the word as it was written.
    Afterwards `operands` is what is left."""

    def __init__(self, argv, shorts, longs):
        self.argv, self.longs = argv, longs
        self.shorts = {letter: shorts[at + 1:at + 2] == ":"
                       for at, letter in enumerate(shorts) if letter != ":"}
        self.operands = []

    def __iter__(self):
        words = iter(self.argv)
        for word in words:
            if word == "--":
                self.operands += words
            elif word.startswith("--"):
                yield self.long(word, words)
            elif word.startswith("-") and word != "-":
                yield from self.cluster(word, words)
            else:
                self.operands.append(word)

    def find(self, name, word):
        if name in self.longs:
            return name
        found = [long for long in self.longs if long.startswith(name)]
        if len(found) != 1:
            raise Unknown(word)
        return found[0]

    def long(self, word, words):
        name, equals, value = word[2:].partition("=")
        name = self.find(name, word)
        if not self.longs[name]:
            if equals:
                raise Unknown(word)
            return name, None, word
        return name, value if equals else self.next(words, word), word

    def cluster(self, word, words):
        letters = word[1:]
        while letters:
            letter, letters = letters[0], letters[1:]
            if letter not in self.shorts:
                raise Unknown(word)
            if self.shorts[letter]:
                yield letter, letters or self.next(words, word), word
                return
            yield letter, None, word

    @staticmethod
    def next(words, word):
        for value in words:
            return value
        raise Missing(word)
