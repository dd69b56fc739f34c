"""The lines of a bundle: their fields, and their one spelling."""

import json

from plans import Wrong, demand

VERSION = 1

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
    "hex64": lambda value: is_hex(value, 64),
    "value": lambda value: type(value) is str and 0 < len(value) < 129 and all("!" <= c <= "~" for c in value),
    "counts": lambda value: type(value) is list and value and all(map(TYPES["decimal"], value)),
    "by": lambda value: type(value) is list and value and all(map(TYPES["u32"], value)) and value == sorted(set(value)),
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

record("row", "first:u64 past:u64 count:decimal digest:hex16 by:by busy_us:u64 at:time")
record("secret", "seed:decimal salt:hex16")
record("public", "root:hex32 value:value")
record("header", """queens_bundle:version program:text exported_at:time problem:text n:u32
    method:rows|ring|halves parameter:u32|null tasks:u64 fingerprint:hex32 shard:u32 shards:u32
    state:running|paused|cancelled|held|done covered:u64 counted:decimal policies:u64 trust:u64 authors:u64 ranges:u64
    audits:u64 disputes:u64 signers:u64 statements:u64 commitments:u64 task_lines:u64 tasks_told:u64 merkle_root:hex32""")
KERNELS = "|".join(f"{loop}|{loop}_mirrored" for loop in ("reference", "portable", "neon", "avx2", "avx512")) + "|search|gpu"
LINES = {
    "policy": "share_ppm:u32 by_search:flag across:machines|owners commitment:hex32 revealed:secret|public|null asked_at:time",
    "trust": "owner:text machine:text|null trusted:flag reason:text at:time",
    "author": f"owner:text machine:text worker:text build:text kernel:{KERNELS}",
    "range": "audit:not_chosen|wanted|agreed row:row",
    "audit": "row:row",
    "dispute": "state:open|settled|taken_back row:row",
    "signer": "key:hex32 ledger:hex16 job:u64 purpose:count|recount",
    "statement": "by:u32 first:u64 past:u64 count:decimal digest:hex16 signature:hex64",
    "commitment": "root:hex32 at:time",
    "tasks": "first:u64 counts:counts",
}
# Kinds of which a verifier keeps all lines, and the most bytes that these may have.
KEPT, MOST_KEPT = ("policy", "commitment", "trust", "author", "signer"), 64 << 20
BEFORE = {
    "policy": ["commitment", "trust", "author", "range", "dispute"], "commitment": ["trust", "author", "range", "dispute"],
    "trust": ["author", "range", "dispute"], "range": ["dispute"],
}  # fmt: skip
for kind, fields in (LINES | {"signature": "key:hex32 signature:hex64"}).items():
    record(kind, fields)

def is_compressed(file):
    """Whether a file that was opened is compressed by zstd, and so has no lines."""
    return file.peek(4).startswith(b"\x28\xb5\x2f\xfd")

def content(line):
    """What a line says, if it is spelled in the one way."""
    try:
        value = json.loads(line.decode())
        demand(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() == line, "it is spelled otherwise")
    except (ValueError, RecursionError) as error:
        raise Wrong(f"it is no JSON: {error}") from error
    return value
