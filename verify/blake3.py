"""BLAKE3 with 32 bytes of output, by its specification.

A number holds a word of each of many chunks, 64 bits apart, so that one addition or rotation of Python does them all:

    chunk    ...      2             1             0
    word     | 0 ... w2 32 bits | 0 ... w1 32 bits | 0 ... w0 32 bits |
"""

import io
from array import array
from sys import byteorder

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
NEXT_WORDS = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
COLUMNS = [(i, i + 4, i + 8, i + 12) for i in range(4)]
DIAGONALS = [(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12) for i in range(4)]
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8
CHUNK, MOST_CHUNKS = 1024, 64

little = lambda data: int.from_bytes(data, "little")
to_bytes = lambda words: b"".join(word.to_bytes(4, "little") for word in words)
together = lambda words: little(b"".join(word.to_bytes(8, "little") for word in words))
words_of = lambda block: [little(block[at : at + 4]) for at in range(0, 64, 4)]
hashed = lambda data: hashed_file(io.BytesIO(data))

def compress(chain, words, counter, length, flags, ones=1):
    """The next chaining value after a block of 16 words. With `ones`, which has a 1 for each chunk, of as many chunks together."""
    mask = 0xFFFFFFFF * ones
    v = [*chain, *(word * ones for word in (*IV[:4], 0, 0, length, flags))]
    v[12], v[13] = counter & mask, counter >> 32 & mask
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(COLUMNS + DIAGONALS):
            for word, first, second in ((words[2 * i], 16, 12), (words[2 * i + 1], 8, 7)):
                v[a] = v[a] + v[b] + word & mask
                mixed = v[d] ^ v[a]
                v[d] = (mixed >> first | mixed << 32 - first) & mask
                v[c] = v[c] + v[d] & mask
                mixed = v[b] ^ v[c]
                v[b] = (mixed >> second | mixed << 32 - second) & mask
        words = [words[i] for i in NEXT_WORDS]
    return tuple(v[i] ^ v[i + 8] for i in range(8))

def chunk_chain(data, chunk, root):
    """The chaining value of the last chunk, which has this number and may be shorter than others."""
    blocks, chain = [data[at : at + 64] for at in range(0, len(data), 64)] or [b""], IV
    for i, block in enumerate(blocks):
        flags = CHUNK_START * (i == 0) | (CHUNK_END | root) * (i == len(blocks) - 1)
        chain = compress(chain, words_of(block), chunk, len(block), flags)
    return chain

def chunk_chains(data, first):
    """The chaining values of whole chunks, of which the first one has this number."""
    words = array("I", data)
    if byteorder == "big":
        words.byteswap()
    chunks = len(data) // CHUNK
    ones = together([1] * chunks)
    chain, counter = [word * ones for word in IV], together(range(first, first + chunks))
    for block in range(16):
        flags = CHUNK_START * (block == 0) | CHUNK_END * (block == 15)
        of_block = [together(words[16 * block + i :: CHUNK // 4]) for i in range(16)]
        chain = compress(chain, of_block, counter, 64, flags, ones)
    return [tuple(word >> 64 * chunk & 0xFFFFFFFF for word in chain) for chunk in range(chunks)]

def hashed_file(file):
    """The hash of the rest of a file, of which some chunks are in memory at a time, and a chaining value for each level of the tree."""
    join = lambda left, right, root: compress(IV, left + right, 0, 64, PARENT | root)
    trees, chunk, data = [], 0, b""
    while following := file.read(MOST_CHUNKS * CHUNK):
        data += following
        # The last chunk may be the root. What is read next shows which one is the last.
        whole = (len(data) - 1) // CHUNK * CHUNK
        for chain in chunk_chains(data[:whole], chunk) if whole else ():
            chunk += 1
            # As many whole trees end with a chunk as its number, from 1 on, can be halved.
            for _ in range((chunk & -chunk).bit_length() - 1):
                chain = join(trees.pop(), chain, 0)
            trees.append(chain)
        data = data[whole:]
    chain = chunk_chain(data, chunk, 0 if trees else ROOT)
    while trees:
        chain = join(trees.pop(), chain, 0 if trees else ROOT)
    return to_bytes(chain)
