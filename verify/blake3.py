"""BLAKE3 with 32 bytes of output, by its specification."""

import io

IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
NEXT_WORDS = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
COLUMNS = [(i, i + 4, i + 8, i + 12) for i in range(4)]
DIAGONALS = [(i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12) for i in range(4)]
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8

rotated = lambda word, by: (word >> by | word << 32 - by) & 0xFFFFFFFF
little = lambda data: int.from_bytes(data, "little")
to_bytes = lambda words: b"".join(word.to_bytes(4, "little") for word in words)
hashed = lambda data: hashed_file(io.BytesIO(data))

def compress(chain, block, counter, flags):
    words = [little(block[at : at + 4]) for at in range(0, 64, 4)]
    v = [*chain, *IV[:4], counter & 0xFFFFFFFF, counter >> 32, len(block), flags]
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(COLUMNS + DIAGONALS):
            for word, first, second in ((words[2 * i], 16, 12), (words[2 * i + 1], 8, 7)):
                v[a] = v[a] + v[b] + word & 0xFFFFFFFF
                v[d] = rotated(v[d] ^ v[a], first)
                v[c] = v[c] + v[d] & 0xFFFFFFFF
                v[b] = rotated(v[b] ^ v[c], second)
        words = [words[i] for i in NEXT_WORDS]
    return tuple(v[i] ^ v[i + 8] for i in range(8))

def chunk_chain(data, chunk, root):
    """The chaining value of the chunk of this number."""
    blocks, chain = [data[at : at + 64] for at in range(0, len(data), 64)] or [b""], IV
    for i, block in enumerate(blocks):
        chain = compress(chain, block, chunk, CHUNK_START * (i == 0) | (CHUNK_END | root) * (i == len(blocks) - 1))
    return chain

def hashed_file(file):
    """The hash of the rest of a file, of which a chunk is in memory at a time, and a chaining value for each level of the tree."""
    join = lambda left, right, root: compress(IV, to_bytes(left + right), 0, PARENT | root)
    trees, chunk, data = [], 0, file.read(1024)
    while following := file.read(1024):
        chain, chunk, data = chunk_chain(data, chunk, 0), chunk + 1, following
        # As many whole trees end with a chunk as its number, from 1 on, can be halved.
        for _ in range((chunk & -chunk).bit_length() - 1):
            chain = join(trees.pop(), chain, 0)
        trees.append(chain)
    chain = chunk_chain(data, chunk, 0 if trees else ROOT)
    while trees:
        chain = join(trees.pop(), chain, 0 if trees else ROOT)
    return to_bytes(chain)
