"""The lines of a bundle: their fields, and their one spelling."""

import json

from plans import Wrong, demand

VERSION = 1
# Bytes of a line with its line feed, and of all lines that a verifier keeps.
LONGEST, MOST_KEPT, MOST_AUTHORS = 128 << 10, 64 << 20, 100_000

is_small = lambda value: value == str(int(value)) and int(value) >> 128 == 0
is_hex = lambda value, size: type(value) is str and len(value) == 2 * size and set(value) <= set("0123456789abcdef")
TYPES = {
    "u32": lambda value: type(value) is int and 0 <= value < 1 << 32,
    "u64": lambda value: type(value) is int and 0 <= value < 1 << 64,
    "time": lambda value: type(value) is int and -1 << 63 <= value < 1 << 63,
    "null": lambda value: value is None,
    "flag": lambda value: type(value) is bool,
    "text": lambda value: type(value) is str,
    "version": lambda value: type(value) is int and value == VERSION,
    "decimal": lambda value: type(value) is str and len(value) < 40 and value.isdecimal() and is_small(value),
    "hex16": lambda value: is_hex(value, 16),
    "hex32": lambda value: is_hex(value, 32),
    "counts": lambda value: type(value) is list and all(map(TYPES["decimal"], value)),
}

def record(name, fields):
    """Adds a type: objects with these fields in this order. A field has a type, or it is one of some words."""
    fields = [field.split(":") for field in fields.split()]

    def fits(value):
        if type(value) is not dict or list(value) != [field for field, _ in fields]:
            return False
        return all(any(of(value[field], kind) for kind in kinds.split("|")) for field, kinds in fields)

    TYPES[name] = fits

def of(value, kind):
    return TYPES[kind](value) if kind in TYPES else value == kind.replace("_mirrored", " mirrored")

record("row", "first:u64 past:u64 count:decimal digest:hex16 by:u32 busy_us:u64 at:time")
record("secret", "seed:decimal salt:hex16")
record("header", """queens_bundle:version program:text exported_at:time problem:text n:u32
    method:rows|ring|halves parameter:u32|null tasks:u64 fingerprint:hex32 shard:u32 shards:u32
    state:running|paused|cancelled|held|done covered:u64 counted:decimal policies:u64 trust:u64 authors:u64 ranges:u64
    audits:u64 disputes:u64""")
KERNELS = "|".join(f"{loop}|{loop}_mirrored" for loop in ("reference", "portable", "neon", "avx2", "avx512")) + "|search|gpu"
LINES = {
    "policy": "share_ppm:u32 by_search:flag across:machines|owners commitment:hex32 revealed:secret|null asked_at:time",
    "trust": "owner:text machine:text|null trusted:flag reason:text at:time",
    "author": f"owner:text machine:text worker:text build:text kernel:{KERNELS}",
    "range": "audit:not_chosen|wanted|agreed row:row counts:counts|null",
    "audit": "row:row",
    "dispute": "state:open|settled|taken_back row:row",
}
# Kinds of which a verifier keeps all lines, and those that no line of a kind may stand behind.
KEPT = ("policy", "trust", "author")
BEFORE = {"policy": ["trust", "author", "range", "dispute"], "trust": ["author", "range", "dispute"], "range": ["dispute"]}
for kind, fields in LINES.items():
    record(kind, fields)

def content(line):
    """What a line says, if it is spelled in the one way."""
    try:
        value = json.loads(line.decode())
        demand(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() == line, "it is spelled otherwise")
    except (ValueError, RecursionError) as error:
        raise Wrong(f"it is no JSON: {error}") from error
    return value
