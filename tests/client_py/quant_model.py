"""A model of words of quantised numbers in plain Python, exact to the bit."""

import math
import struct


def _bits(value):
    return struct.unpack("I", struct.pack("f", value))[0]


def _float(bits):
    return struct.unpack("f", struct.pack("I", bits))[0]


def f32(value):
    return _float(_bits(value))


class Number:
    """A number in a word: kind, bits, sign, scale, exponent bits, and position."""

    def __init__(self, kind, bits, signed, scale, exponent_bits):
        self.kind, self.bits, self.signed = kind, bits, signed
        self.scale, self.exponent_bits = scale, exponent_bits
        self.at = self.exponent_at = 0
        self.group = None  # all numbers with its shared exponent, including itself

    @property
    def digits(self):
        return self.bits - self.signed


def lay_out(numbers):
    """Places the numbers one after the other; returns the bits that they take."""
    used = 0
    for number in numbers:
        if number.kind == "float":
            leader = number.group[0] if number.group else number
            if leader is number:
                number.exponent_at = used
                used += number.exponent_bits
            number.exponent_at = leader.exponent_at
        number.at = used
        used += number.bits
    return used


def _get(word, at, bits):
    return word >> at & ((1 << bits) - 1)


def _put(word, at, bits, value):
    mask = ((1 << bits) - 1) << at
    return word & ~mask | value << at & mask


def read(word, number):
    raw = _get(word, number.at, number.bits)
    if number.kind != "float":
        if number.signed and raw >> (number.bits - 1):
            raw -= 1 << number.bits
        return raw if number.kind == "int" else f32(f32(raw) * f32(number.scale))
    return _float(_widen(word, number))


def _widen(word, number):
    exponent = _get(word, number.exponent_at, number.exponent_bits)
    raw, digits = _get(word, number.at, number.bits), number.digits
    sign, magnitude = raw >> digits << 31, raw & ((1 << digits) - 1)
    bias = 128 - (1 << (number.exponent_bits - 1))
    if not number.group:
        return sign | (exponent + bias << 23 | magnitude << (23 - digits) if exponent else 0)
    if exponent == 0 or magnitude == 0:
        return 0
    up = digits - magnitude.bit_length()
    if exponent + bias <= up:
        return 0
    fraction = magnitude << up << (24 - digits) & 0x7FFFFF
    return sign | exponent + bias - up << 23 | fraction


def write(word, number, value):
    if number.kind == "int":
        return _put(word, number.at, number.bits, value)
    if number.kind == "fixed":
        return _put(word, number.at, number.bits, fixed_digits(number, value))
    if number.group:
        return write_shared(word, {number: value})
    bits, digits, largest = _bits(value), number.digits, (1 << number.exponent_bits) - 1
    rounded = (bits & 0x7FFFFFFF) + (1 << (22 - digits) if digits < 23 else 0)
    exponent = (rounded >> 23) - 128 + (1 << (number.exponent_bits - 1))
    fraction = (rounded & 0x7FFFFF) >> (23 - digits)
    if exponent > largest:
        exponent, fraction = largest, (1 << digits) - 1
    if number.signed:
        fraction |= bits >> 31 << digits
    if exponent <= 0:
        exponent = fraction = 0
    word = _put(word, number.exponent_at, number.exponent_bits, exponent)
    return _put(word, number.at, number.bits, fraction)


def fixed_digits(number, value):
    scaled = f32(f32(value) * f32(1.0 / number.scale))
    return int(f32(scaled + math.copysign(0.5, scaled)))


def write_shared(word, written):
    """Stores numbers with a shared exponent together."""
    group = next(iter(written)).group
    values = {n: _bits(written[n]) if n in written else _widen(word, n) for n in group}
    bits = group[0].exponent_bits
    bias, largest = 128 - (1 << (bits - 1)), (1 << bits) - 1
    highest = max(value >> 23 & 255 for value in values.values())
    exponent = 0 if highest <= bias else min(highest - bias, largest)
    word = _put(word, group[0].exponent_at, bits, exponent)
    for number, value in values.items():
        raw = _narrow(value, exponent + bias, number) if exponent else 0
        word = _put(word, number.at, number.bits, raw)
    return word


def _narrow(value, exponent, number):
    own, digits = value >> 23 & 255, number.digits
    if own == 0:
        return 0
    magnitude = (1 << digits) - 1
    if own <= exponent:
        magnitude = (value & 0x7FFFFF | 0x800000) >> (exponent - own)
        if digits < 24:
            magnitude = min(magnitude + (1 << (23 - digits)), (1 << 24) - 1)
        magnitude >>= 24 - digits
    if magnitude and number.signed:
        magnitude |= value >> 31 << digits
    return magnitude


def add(word, number, value):
    """An atomic addition; for fixed-point numbers, it adds digits."""
    if number.kind == "fixed":
        raw = _get(word, number.at, number.bits) + fixed_digits(number, value)
        return _put(word, number.at, number.bits, raw)
    old = read(word, number)
    return write(word, number, old + value if number.kind == "int" else f32(old + value))
