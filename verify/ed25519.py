"""Ed25519 by the formulas of RFC 8032, section 5.1: whether a key has signed a message. It is plain and slow: a signature
takes some milliseconds. Nothing here is secret, so nothing is hidden from clocks."""

from hashlib import sha512

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)


def point(data):
    """The point (x, y) in homogeneous coordinates X, Y, Z, T with x = X/Z, y = Y/Z, x y = T/Z; None if there is none."""
    y, sign = int.from_bytes(data, "little") % 2**255, data[31] >> 7
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT_OF_MINUS_ONE % P
    if x * x % P != square or (x == 0 and sign):
        return None
    x = x if x % 2 == sign else P - x
    return x, y, 1, x * y % P


def added(one, other):
    """The sum of two points."""
    a, b = (one[1] - one[0]) * (other[1] - other[0]), (one[1] + one[0]) * (other[1] + other[0])
    c, d = 2 * one[3] * other[3] * D, 2 * one[2] * other[2]
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(number, one):
    """The sum of so many times the point."""
    sum = (0, 1, 1, 0)
    while number:
        if number & 1:
            sum = added(sum, one)
        one, number = added(one, one), number >> 1
    return sum


BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def encoded(one):
    """The 32 bytes of a point."""
    inverse = pow(one[2], -1, P)
    x, y = one[0] * inverse % P, one[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def has_secret(one):
    """Whether a point can be somebody's key. Anybody can sign for one that is the neutral point eight times."""
    x, y, z, _ = times(8, one)
    return x % P != 0 or (y - z) % P != 0


def has_signed(key, message, signature):
    """Whether the holder of the public key, 32 bytes, has signed the message by the 64 bytes of the signature."""
    holder, s = point(key), int.from_bytes(signature[32:], "little")
    if holder is None or not has_secret(holder) or s >= ORDER:
        return False
    hash = int.from_bytes(sha512(signature[:32] + key + message).digest(), "little") % ORDER
    minus = (-holder[0], holder[1], holder[2], -holder[3])
    return encoded(added(times(s, BASE), times(hash, minus))) == signature[:32]


def signed(seed, message):
    """The public key that belongs to the secret seed of 32 bytes, and its signature of the message. Only the corpus needs
    it, whose keys are no secrets."""
    hash = sha512(seed).digest()
    secret = int.from_bytes(hash[:32], "little") & (2**254 - 8) | 2**254
    key = encoded(times(secret, BASE))
    nonce = int.from_bytes(sha512(hash[32:] + message).digest(), "little") % ORDER
    first = encoded(times(nonce, BASE))
    product = int.from_bytes(sha512(first + key + message).digest(), "little") * secret
    return key, first + ((nonce + product) % ORDER).to_bytes(32, "little")
